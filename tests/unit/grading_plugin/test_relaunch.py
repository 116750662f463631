"""What goes on in a fresh launch after a failure, when, and what ends a part."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from grader.grading_plugin.case import Case
from grader.grading_plugin.launch_results import RunFailed, make_launch
from grader.grading_plugin.relaunch import (
    MOST_FRESH_LAUNCHES,
    Answers,
    LaunchBudget,
    NotRun,
    PartTime,
    told_as_begun,
)
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import Attempt, MessageFault, Outcome, RunFailure, Verdict
from grader.trace.calls import Trace

from ..judge.build import Run

RANKS = 4
LATE = RunFailure(Verdict.TIME_LIMIT_EXCEEDED, "no time is left")


@dataclass(frozen=True)
class Named(Case):
    name: str = ""
    probe: str = "call"

    @property
    def label(self):
        return self.name


class Ranks:
    """Ends each launch at the first case that is among the failures; remembers all launches."""

    def __init__(self, failures: dict[str, RunFailure]) -> None:
        self.failures = failures
        self.launches: list[list[str]] = []

    def start(self, cases: Sequence[Named]) -> LaunchResult:
        self.launches.append([case.name for case in cases])
        outcomes = []
        for case in cases:
            if case.name in self.failures:
                return LaunchResult(tuple(outcomes), self.failures[case.name])
            outcomes.append(Outcome(case.name, RANKS, (), (), Trace(()), 0.1))
        return LaunchResult(tuple(outcomes), None)

    def answers(self, cases, budget, ranks=RANKS, out_of_time=lambda: None) -> Answers:
        return Answers(cases, cases, ranks, self.start, budget, out_of_time, self.start)


def cases(*names: str, **subjects: str) -> tuple[Named, ...]:
    return tuple(Named(name=name, subject=subjects.get(name, "")) for name in names)


CRASH = RunFailure(Verdict.RUN_TIME_ERROR, "it crashed", kind="crash")
STARVED = RunFailure(Verdict.JUDGE_ERROR, "the machine was busy in both attempts")


def test_it_is_a_sequence_of_as_many_as_there_are_cases():
    """Also from its end, and never more."""
    answers = Ranks({"b": CRASH}).answers(cases("a", "b", "c"), LaunchBudget())
    with pytest.raises(IndexError):  # or else the next line would never end
        answers[3]
    assert len(list(answers)) == len(answers) == 3
    assert answers[-3] is answers[0]
    assert [type(each).__name__ for each in answers[1:]] == ["RunFailure", "Outcome"]


def test_who_is_known_to_fail_and_who_came_too_late_is_told_apart():
    """Of a subject that has failed nothing more is run; others wait for a fresh launch."""
    names = ["a", "b", *map(str, range(6))]
    ranks = Ranks({name: CRASH for name in names if name != "b"})
    answers = ranks.answers(cases(*names, a="one", b="one"), LaunchBudget(has_answered=True))
    assert answers[1] == NotRun("same cause as above")
    assert answers[-1] == NotRun("too many earlier cases failed")
    assert len(ranks.launches) == 1 + MOST_FRESH_LAUNCHES


def test_one_crash_on_two_numbers_of_ranks_ends_a_part_that_has_no_answer():
    """Another subject is tried before that is believed; what the sentences say decides nothing."""
    worded_otherwise = replace(CRASH, message="it broke down")
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH, "b": worded_otherwise})
    ranks.answers(cases("a", "b", "c"), budget, ranks=4)
    assert budget.ended is None
    answers = ranks.answers(cases("a", "b", "c"), budget, ranks=2)
    assert budget.ended == CRASH
    assert ranks.launches == [["a", "b", "c"], ["a", "b", "c"], ["b", "c"]]
    assert answers[2] == NotRun("the part had already ended")


def test_one_rank_alone_is_asked_where_several_fail_alike():
    """Once: unless it failed before, or there is nothing to call."""
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH, "b": CRASH})
    assert not any(map(budget.is_over_for, (1, 2, 4)))
    for number in (4, 2):
        ranks.answers(cases("a", "b"), budget, number)
    assert [budget.is_over_for(number) for number in (1, 2, 4)] == [False, True, True]
    missing = replace(CRASH, verdict=Verdict.NOT_ATTEMPTED, is_lasting=True)
    answers = Ranks({"a": missing}).answers(cases("a"), budget, 1)
    assert answers[0].verdict is Verdict.RUN_TIME_ERROR
    assert budget.is_over_for(1) and budget.ended == CRASH
    lasting = LaunchBudget()
    Ranks({"a": missing}).answers(cases("a"), lasting)
    assert lasting.is_over_for(1)


def test_what_knows_two_ranks_only_is_asked_on_two():
    """However many others fail alike."""
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH, "b": CRASH})
    for number in (4, 3, 8):
        ranks.answers(cases("a", "b", "c"), budget, ranks=number)
    assert budget.ended is None


@pytest.mark.parametrize(
    "other", [STARVED, replace(CRASH, kind="something else"), replace(CRASH, place="elsewhere")]
)
def test_another_subject_that_fails_otherwise_or_was_not_given_its_time_does_not_end_the_part(
    other,
):
    """Nothing follows from it for the cases that come after."""
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH, "b": other})
    for number in (4, 2):
        answers = ranks.answers(cases("a", "b", "c"), budget, ranks=number)
    assert ranks.launches[1:] == [["a", "b", "c"], ["b", "c"]]
    assert budget.ended is None
    assert isinstance(answers[2], Outcome)


def test_another_subject_is_not_tried_when_the_time_is_up():
    """Then nothing is known of it, and nothing ends."""
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH, "b": CRASH})
    for number in (4, 2):
        ranks.answers(cases("a", "b"), budget, number, out_of_time=lambda: LATE)
    assert ranks.launches == [["a", "b"], ["a", "b"]]
    assert budget.ended is None


def test_one_crash_on_two_numbers_of_ranks_is_not_the_end_where_another_case_has_an_answer():
    """The plainest case may be the only one that fails."""
    budget, ranks = LaunchBudget(), Ranks({"a": CRASH})
    first = ranks.answers(cases("a", "b"), budget, ranks=4)
    second = ranks.answers(cases("a", "b"), budget, ranks=2)
    assert budget.ended is None
    assert isinstance(first[1], Outcome) and isinstance(second[1], Outcome)


def test_nothing_goes_on_when_the_time_is_up():
    """Not even what was begun before."""
    late = [False]
    ranks = Ranks({"a": CRASH})
    answers = ranks.answers(
        cases("a", "b"),
        LaunchBudget(has_answered=True),
        out_of_time=lambda: LATE if late[0] else None,
    )
    late[0] = True
    assert answers[1] == LATE
    assert len(ranks.launches) == 1


def test_an_alteration_that_came_too_late_was_not_run():
    """As a failure it would look as if the message mattered."""
    asked = [replace(case, message_fault=MessageFault(0, 0)) for case in cases("a", "b")]
    ranks = Ranks({"a": CRASH})
    answers = ranks.answers(asked, LaunchBudget(), out_of_time=lambda: LATE)
    assert answers[1] == NotRun(LATE.message)


def test_what_the_machine_did_costs_no_budget_and_says_nothing_of_its_subject():
    """The other cases go on, and nobody concludes anything from the one that was starved."""
    budget = LaunchBudget()
    asked = cases(*map(str, range(9)), **{"0": "one", "1": "one"})
    answers = Ranks({str(number): STARVED for number in range(8)}).answers(asked, budget)
    assert isinstance(answers[8], Outcome)
    assert budget == LaunchBudget(has_answered=True)
    launch = make_launch(asked, answers, RANKS)
    for look in (launch.holding, lambda check: list(launch.answers())):
        with pytest.raises(RunFailed, match="the machine was busy in both attempts"):
            look(lambda case, outcome: None)


@dataclass(frozen=True)
class Timed(Named):
    purpose: str = "values"


TIMED = (
    Timed(name="yardstick", purpose="yardstick"),
    *cases("a"),
    Timed(name="t", purpose="timing"),
)


def test_yardsticks_are_launched_right_after_the_timed_cases():
    """Their answers stand where their cases do."""
    ranks = Ranks({})
    answers = ranks.answers(TIMED, LaunchBudget())
    assert ranks.launches == [["a", "t"], ["yardstick"]]
    assert [answer.label for answer in answers] == ["yardstick", "a", "t"]


def test_without_an_answer_of_a_timed_case_yardsticks_wait_until_a_test_asks_for_them():
    """Then the timed case goes on right after them."""
    ranks = Ranks({"a": CRASH})
    answers = ranks.answers(TIMED, LaunchBudget())
    assert ranks.launches == [["a", "t"]]
    assert isinstance(answers[0], Outcome)
    assert isinstance(answers[2], Outcome)
    assert ranks.launches == [["a", "t"], ["yardstick"], ["t"]]


def test_a_yardstick_that_fails_is_the_failure_of_the_grader():
    """And says nothing of the submission, nor of its part."""
    budget = LaunchBudget()
    answers = Ranks({"yardstick": CRASH}).answers(TIMED, budget)
    assert answers[0].verdict is Verdict.JUDGE_ERROR
    assert isinstance(answers[2], Outcome)
    assert (budget.ended, budget.first_failures) == (None, ())


def test_no_yardstick_is_launched_when_no_time_is_left():
    """Nor is anything else."""
    ranks = Ranks({"a": CRASH})
    answers = ranks.answers(TIMED, LaunchBudget(), out_of_time=lambda: LATE)
    assert answers[0] is LATE
    assert ranks.launches == [["a", "t"]]


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
    assert "used up the 100 s of this part; the slowest took 60 s: the ring" in late.message


def test_a_busy_machine_is_not_the_submissions():
    """Where most of the time went to runs that were given too little, there is no verdict on it."""
    time = PartTime(100.0)
    time.charge(starved(90.0), "values")
    time.charge(answered(20.0), "values")
    late = time.out_of_time()
    assert late is not None and late.verdict is Verdict.JUDGE_ERROR
    assert "90 of the 100 s" in late.message


TODO = RunFailure(Verdict.NOT_ATTEMPTED, "to be written", kind="todo", is_lasting=True)
OWN = {"ring.py": b"import x\ncomm.Send(a, 1)\ncomm.Recv(b, 0)\n"}


def launched(call, line, file="ring.py", failure=TODO):
    run = Run(2)
    run.call(0, call, file=f"/submission/{file}", line=line, is_send=call == "Send")
    attempt = Attempt(2, ({}, {}), run.trace(), failure)
    return LaunchResult((), failure, unfinished=attempt)


@pytest.fixture
def template(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "ring.py").write_text("import x\n\n    comm.Recv(b, 0)\n")
    return tmp_path


@pytest.mark.parametrize(("call", "line"), [("Send", 2), ("Barrier", 2)])
def test_code_whose_own_lines_have_called_was_attempted(template, call, line):
    """It ends one case, not the part; what the ranks did is told with it."""
    found = told_as_begun(launched(call, line), OWN, template)
    assert (found.failure.verdict, found.failure.is_lasting) == (Verdict.RUN_TIME_ERROR, False)
    assert found.failure.message == TODO.message
    assert found.unfinished.failure == found.failure


@pytest.mark.parametrize(
    ("call", "line", "file"),
    [
        ("Send", 3, "ring.py"),
        ("Send", 2, "given.py"),
        ("Send", 0, "ring.py"),
        ("Send", 99, "ring.py"),
        ("Comm_dup", 2, "ring.py"),
    ],
)
def test_calls_of_given_lines_begin_nothing(template, call, line, file):
    """Nor do those of other files, and calls that bring nothing to anybody."""
    assert told_as_begun(launched(call, line, file), OWN, template) == launched(call, line, file)


def test_other_failures_stay_as_they_are(template):
    """As does a launch without any."""
    crash = replace(TODO, verdict=Verdict.DEADLOCK)
    for each in (launched("Send", 2, failure=crash), LaunchResult((), None)):
        assert told_as_begun(each, OWN, template) == each
    assert told_as_begun(launched("Send", 3), OWN, None).failure.verdict is Verdict.RUN_TIME_ERROR
