"""What is made of missing or disagreeing witnesses of a launch."""

from dataclasses import replace

import pytest

from grader.judge.explanation.bytes_carried import Doubt
from grader.judge.explanation.trace_doubts import TraceDoubts
from grader.model.errors import GraderError
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation, CaseTime, RankCase
from grader.trace.calls import Counted, RankTrace

NOTHING = Counted((), ())


def case(*, initialised=True, before=None, after=None):
    """Return a case of one rank that has called nothing; before, after: what MPI has counted."""
    trace = replace(RankTrace.unseen(0), attached=True, initialised=initialised)
    rank = RankCase({}, {}, trace, before, after, num_nested=0, sent_by_gloo=None)
    return CaseObservation((rank,), began_ns=1, read_ns=2, lasted=CaseTime(1.0, 0.0))


def doubts(backend="mpi"):
    plan = LaunchPlan(
        ranks=1,
        cases=(),
        probes={},
        backend=backend,
        standalone=False,
        entry="",
        submission={},
        support={},
    )
    return TraceDoubts(plan)


def test_an_mpi_that_does_not_count_is_the_graders_failure():
    """Nobody is marked without MPI's own counts, and no student is blamed for it."""
    with pytest.raises(GraderError, match="MPI does not count rank 0's messages"):
        doubts().of(case())


def test_an_mpi_that_counts_no_longer_is_doubted():
    """It did before the student's code ran: what was written there since is no failure of ours."""
    assert doubts().of(case(before=NOTHING, after=NOTHING)) == ()
    of_launch = doubts()
    expected = (Doubt("MPI stopped counting rank 0's messages", (0,)),)
    assert of_launch.of(case(before=NOTHING)) == expected
    # Also in later cases: what counts is whether it did at first.
    assert of_launch.of(case()) == expected


def test_a_program_that_never_started_mpi_has_sent_nothing():
    """There is nothing to count, and nothing to doubt."""
    assert doubts().of(case(initialised=False, before=NOTHING, after=NOTHING)) == ()


def test_torch_has_no_second_witness():
    """Gloo does not count: records are compared with each other only."""
    assert doubts(backend="torch").of(case()) == ()


def test_a_collective_of_no_recorded_call_is_doubted():
    """MPI's own messages leave in calls that are recorded, or somebody calls it by other names."""
    seen = case(before=NOTHING, after=NOTHING)
    (rank,) = seen.ranks
    (doubt,) = doubts().of(replace(seen, ranks=(replace(rank, num_beside_calls=3),)))
    assert doubt.text.startswith("on rank 0, MPI sent 3 messages for collectives")
