"""What is made of missing or disagreeing witnesses of a run."""

import mmap
from contextlib import closing

import numpy as np
import pytest

from grader.errors import GraderError
from grader.runner.cross_check import CrossCheck
from grader.runner.rank_files import RankFiles
from grader.trace import layout
from grader.trace.calls import RankTrace, Trace


def idle(*, initialised=True):
    """Return the trace of one rank that has called nothing."""
    rank = RankTrace(
        rank=0,
        calls=(),
        attached=True,
        initialised=initialised,
        finalised=False,
        inside=-1,
        polling=False,
        progress=0,
        num_failed_polls=0,
        truncated=False,
    )
    return Trace((rank,))


def doubts_of(trace, *, is_mpi=True, counts=(False, False)):
    """Return the doubts about a case; counts: whether MPI counts before it and after."""
    with closing(RankFiles.create()) as files:
        header = np.frombuffer(mmap.mmap(files.trace.fd, 0), "<u8", len(layout.HEADER_WORDS))
        header[layout.HEADER_WORDS.index("initialised")] = trace.ranks[0].initialised
        witnesses = CrossCheck([files], lambda: None, phases=(1,), is_mpi=is_mpi)
        header[layout.HEADER_WORDS.index("is_monitored")] = counts[0]
        witnesses.begin_case()
        header[layout.HEADER_WORDS.index("is_monitored")] = counts[1]
        return witnesses.doubts(trace)


def test_an_mpi_that_does_not_count_is_the_graders_failure():
    """Nobody is marked without MPI's own counts, and no student is blamed for it."""
    with pytest.raises(GraderError, match="MPI does not count the messages of rank 0"):
        doubts_of(idle())


def test_an_mpi_that_counts_no_longer_is_doubted():
    """It did before the student's code ran: what was written there since is no failure of ours."""
    assert doubts_of(idle(), counts=(True, True)) == ()
    assert doubts_of(idle(), counts=(True, False)) == (
        "MPI counted the messages of rank 0, and then no longer",
    )


def test_a_program_that_never_started_mpi_has_sent_nothing():
    """There is nothing to count, and nothing to doubt."""
    assert doubts_of(idle(initialised=False)) == ()


def test_torch_has_no_second_witness():
    """Gloo does not count: records are compared with each other only."""
    assert doubts_of(idle(), is_mpi=False) == ()
