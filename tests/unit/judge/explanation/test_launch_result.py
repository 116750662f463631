"""What the facts of a launch come to, without any rank."""

from dataclasses import replace

import numpy as np
import pytest
from observations import RANKS, answered, exchanged, observations, plan

from grader.judge.explanation.launch_result import explain
from grader.model.report import Outcome, RunFailure, Verdict
from grader.recording.observation import LaunchObservation

VERDICTS = {
    "all answered": None,
    "stalled": Verdict.DEADLOCK,
    "trouble": Verdict.RUN_TIME_ERROR,
    "excess": Verdict.MEMORY_LIMIT_EXCEEDED,
    "time limit": Verdict.TIME_LIMIT_EXCEEDED,
    "between two cases": Verdict.DEADLOCK,
}


@pytest.mark.parametrize("name", VERDICTS)
def test_each_end_has_its_verdict(name):
    """With what the ranks had called in the case that it ended, to be shown."""
    observed = observations()[name]
    launched = explain(plan(), observed)
    assert len(launched.outcomes) == len(observed.cases)
    failure = launched.failure
    assert (failure and failure.verdict) == VERDICTS[name]
    assert (launched.wall_time_s, launched.is_out_of_time) == (observed.wall_time_s, False)
    if failure is not None:
        has_pictures = failure.evidence is not None and bool(failure.evidence.timeline.spans)
        assert has_pictures == (name != "between two cases")
        assert failure.detail.endswith("last output of rank 1:\nthe last line")


def test_a_launch_without_an_end_was_out_of_time():
    """Where it answered fewer cases than it was given."""
    launched = explain(plan(num_cases=3), observations()["all answered"])
    assert launched.is_out_of_time and launched.failure is None


def of_case(case, backend="mpi") -> Outcome | RunFailure:
    (found,) = explain(plan(backend), LaunchObservation((case,))).outcomes
    return found


def test_an_answer_has_results_calls_and_times():
    """The results that were announced, and no others; times without what others had."""
    outcome = of_case(answered(is_mpi=False), "torch")
    assert isinstance(outcome, Outcome)
    assert [sorted(result) for result in outcome.results] == [["said", "sum"]] * RANKS
    assert np.array_equal(outcome["sum"][1], [1, 2, 3])
    assert (outcome.wall_time_s, outcome.given_time_s) == (0.5, 0.4)
    functions = [call.function for call in outcome.trace.ranks[0].calls]
    assert functions == ["Send", "Irecv", "Waitall"]


def test_what_contradicts_the_calls_is_a_doubt():
    """Here MPI has counted no message, and each rank recorded one."""
    outcome = of_case(answered())
    assert isinstance(outcome, Outcome)
    assert "MPI itself counted 0" in outcome.trace.doubts[0]
    assert outcome.trace.doubtful_ranks == (0, 1)


def test_an_answer_of_another_form_is_refused():
    """The case has no outcome; the next one may."""
    case = answered()
    other = replace(case.ranks[1], arrays={"sum": np.ones(4)})
    refused = of_case(replace(case, ranks=(case.ranks[0], other)))
    assert isinstance(refused, RunFailure) and refused.verdict is Verdict.WRONG_ANSWER
    assert refused.message == "rank 1: sum has shape (4,); expected (3,)"


def test_the_calls_of_a_refused_answer_are_kept_and_counted():
    """A ring whose result has a wrong dtype has sent its chunks all the same."""
    case = answered()
    other = replace(case.ranks[1], arrays={"sum": np.ones(3, "int8")})
    wrong = replace(case, ranks=(case.ranks[0], other))
    launched = explain(plan(num_cases=2), LaunchObservation((case, wrong)))
    assert list(launched.refused) == [1]
    attempt = launched.refused[1]
    assert (attempt.failure, attempt.ranks) == (launched.outcomes[1], RANKS)
    assert [call.function for call in attempt.trace.ranks[0].calls] == ["Send", "Irecv", "Waitall"]
    right = launched.outcomes[0]
    assert isinstance(right, Outcome) and attempt.trace.num_bytes > 0
    assert launched.trace_num_bytes == right.trace.num_bytes + attempt.trace.num_bytes


def test_the_calls_of_a_case_that_ended_its_launch_are_counted():
    """They stay as long as those of an answer."""
    launched = explain(plan(), observations()["stalled"])
    assert launched.unfinished is not None and launched.unfinished.trace.num_bytes > 0
    answers = [each for each in launched.outcomes if isinstance(each, Outcome)]
    kept = sum(each.trace.num_bytes for each in answers)
    assert launched.trace_num_bytes == kept + launched.unfinished.trace.num_bytes


def test_more_calls_than_are_kept_prove_nothing():
    """A person has to look at it."""
    found = of_case(replace(answered(), num_calls_not_kept=(7, 1_000_000)))
    assert isinstance(found, RunFailure) and found.verdict is Verdict.NOT_PROVEN
    assert found.message.startswith("rank 1 made at least 1,000,000 communication calls")


def test_remarks_and_refusals_are_told_once():
    """By whom and of which line."""
    observed = replace(observations()["all answered"], refusals=("", "ring.py:3 opens a socket"))
    launched = explain(plan(), observed)
    assert [str(each) for each in launched.remarks] == [
        "ring.py:1 imports pandas, which is not installed here; this costs no points unless a "
        "line uses it"
    ]
    assert launched.refusals == (
        "rank 1: ring.py:3 opens a socket; submissions must communicate through mpi4py or "
        "torch only",
    )
    assert explain(plan(), LaunchObservation((answered(exchanged()),))).refusals == ()
