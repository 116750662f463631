"""A part's time is that of its runs, without those that the machine gave too little."""

from grader.grading_plugin.relaunch import PartTime
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import RunFailure, Verdict

BUSY = RunFailure(Verdict.JUDGE_ERROR, "the machine was busy")


def answered(wall_time_s: float) -> LaunchResult:
    return LaunchResult((), None, wall_time_s)


def starved(wall_time_s: float) -> LaunchResult:
    return LaunchResult((), BUSY, wall_time_s)


def test_runs_within_the_limit_go_on():
    """What is left is what the next launch may take."""
    time = PartTime(100.0)
    time.charge(answered(40.0), "values")
    assert (time.left_s, time.out_of_time()) == (60.0, None)


def test_past_the_limit_it_is_said_which_test_took_the_most():
    """It is the submission's: each of its cases had its time."""
    time = PartTime(100.0)
    for test, wall_time_s in (("values", 30.0), ("the ring", 60.0), ("values", 20.0)):
        time.charge(answered(wall_time_s), test)
    late = time.out_of_time()
    assert late is not None and late.verdict is Verdict.TIME_LIMIT_EXCEEDED
    assert "took 100 s, all that a part may take; 60 s of it went to: the ring" in late.message


def test_a_busy_machine_is_not_the_submissions():
    """Where most of the time went to runs that were given too little, there is no verdict on it."""
    time = PartTime(100.0)
    time.charge(starved(90.0), "values")
    time.charge(answered(20.0), "values")
    late = time.out_of_time()
    assert late is not None and late.verdict is Verdict.JUDGE_ERROR
    assert "90 of the 100 s" in late.message
