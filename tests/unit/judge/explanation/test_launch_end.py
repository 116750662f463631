"""Why a launch ended, told of what was seen of its ranks."""

import pytest
from unit.judge.build import Run

from grader.judge.explanation.launch_end import failure_of_end
from grader.model.report import Verdict
from grader.recording.observation import CaseTime, End, EndKind, Excess, LaunchObservation, RankEnd

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
