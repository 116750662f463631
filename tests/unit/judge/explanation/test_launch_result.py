"""What the facts of a launch come to, without any rank."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from observations import RANKS, answered, exchanged, observations, plan
from unit.judge.build import Run

from grader.judge.explanation.crash_messages import failure_of_problem
from grader.judge.explanation.launch_result import explain, failure_of_end
from grader.model.report import Outcome, RunFailure, Verdict
from grader.recording.observation import CaseTime, End, EndKind, Excess, LaunchObservation, RankEnd

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


LIMIT_S = 10.0


def told(end, **facts):
    observed = LaunchObservation((), end, **facts)
    return failure_of_end(observed, end, entry="go(comm)", makes_progress=True, are_apart=True)


def trouble(*ranks: RankEnd):
    return told(End(EndKind.TROUBLE, ranks, Run(len(ranks)).trace()))


def out_of_time(clock_s, run_queue_delay_s):
    end = End(
        EndKind.TIME_LIMIT,
        (RankEnd(), RankEnd(has_returned=True)),
        Run(2).trace(),
        lasted=CaseTime(clock_s, run_queue_delay_s),
        limit_s=LIMIT_S,
    )
    return told(end)


def test_the_sentence_says_what_the_machine_held_back():
    """Nothing of it where it held back next to nothing."""
    for clock_s, run_queue_delay_s in ((10.1, 0.0), (11.0, 0.9)):
        failure = out_of_time(clock_s, run_queue_delay_s)
        assert failure.verdict is Verdict.TIME_LIMIT_EXCEEDED
        assert failure.message == "stopped after 10 s without finishing: rank 0 was still computing"
    slow = out_of_time(31.2, 21.0).message
    assert slow.startswith("stopped after 10 s without finishing: ")
    assert slow.endswith("; the machine was busy, so this case took 31 s of real time")


def test_who_computes_is_told_before_those_who_wait_for_it():
    """Also where only some ranks are told of, of many."""
    run = Run(8)
    for rank in range(7):
        run.enter(rank, "Barrier")
    ranks = tuple(RankEnd(place=("ring.py", 20 if rank == 7 else 10)) for rank in range(8))
    lasted = CaseTime(10.1, 0.0)
    failure = told(End(EndKind.TIME_LIMIT, ranks, run.trace(), lasted=lasted, limit_s=LIMIT_S))
    (finding,) = failure.findings
    assert ": rank 7 was still computing at ring.py:20; rank 0 was still in Barrier" in finding.text
    assert finding.facts["ranks"] == tuple(range(8))
    assert finding.places == ("ring.py:20", "ring.py:10")


def test_what_a_busy_machine_ended_is_no_time_limit():
    """It was launched twice, and nothing is known of the submission."""
    failure = out_of_time(50.1, 43.2)
    assert failure.verdict is Verdict.JUDGE_ERROR
    assert failure.message == (
        "stopped after 50 s without finishing: rank 0 was still computing; the machine was busy "
        "in both attempts, so this case got only 7 s of its 10 s; this is not your fault"
    )


def test_two_opinions_on_a_deadlock_are_the_graders_failure():
    """The ranks were ended, and their calls do not say why."""
    failure = told(End(EndKind.STALLED, (RankEnd(), RankEnd()), Run(2).trace()))
    assert failure.verdict is Verdict.JUDGE_ERROR
    assert "the recorded calls do not show one" in failure.message


def test_a_crash_is_the_cause_and_a_stack_that_was_asked_for_is_not():
    """Ranks that stand still are asked where they are, also while another one crashes."""
    asked = RankEnd(said="closed", place=("ring.py", 12))
    crashed = RankEnd(said="closed", place=("ring.py", 3), dumped_a_crash=True, signal="SIGSEGV")
    assert trouble(asked, RankEnd(said="closed"), crashed).message == (
        "rank 2 produced no result: its process was killed by SIGSEGV at ring.py:3 before it "
        "returned"
    )
    assert "rank 0 produced no result" in trouble(asked, RankEnd(said="closed")).message


def test_what_cannot_be_read_is_told_in_our_words():
    """A rank's own frame of that name says nothing."""
    unread = RankEnd(said="broken", values={"message": "arrays of 9 bytes"})
    assert trouble(unread).message.endswith("from rank 0: arrays of 9 bytes")
    unexpected = RankEnd(said="result", values={"message": "all is well"})
    assert trouble(unexpected).message.endswith("an unreadable message from rank 0")


@pytest.mark.parametrize(
    ("excess", "verdict", "words"),
    [
        (Excess("memory", 3 << 20, 2 << 20), Verdict.MEMORY_LIMIT_EXCEEDED, "used 3 MiB"),
        (
            Excess("processes", 9, 8),
            Verdict.RUN_TIME_ERROR,
            ("had 9 processes and threads at once; the limit is 8"),
        ),
        (Excess("output", 9 << 20, 8 << 20, 1), Verdict.OUTPUT_LIMIT_EXCEEDED, "rank 1 printed"),
        (Excess("output", 9 << 20, 8 << 20), Verdict.OUTPUT_LIMIT_EXCEEDED, "child processes"),
    ],
)
def test_each_excess_has_its_verdict(excess, verdict, words):
    """And says how much there was, and how much may be."""
    end = End(EndKind.EXCESS, (RankEnd(), RankEnd()), Run(2).trace(), excess=excess)
    failure = told(end, output_tails=("", "the last line"))
    assert failure.verdict is verdict and words in failure.message
    assert failure.detail == "last output of rank 1:\nthe last line"


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["kind", "type", "message", "file", "line", "source", "traceback"]),
        st.none()
        | st.integers()
        | st.just("SyntaxError")
        | st.text(max_size=20)
        | st.lists(st.integers(), max_size=2),
    )
)
def test_any_problem_gives_one_short_sentence(values):
    """What a rank says of its exception is a claim; it cannot break the judge."""
    failure = failure_of_problem(0, values, "go()", python=(3, 11))
    assert failure.message and len(failure.message) < 2000
