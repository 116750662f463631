"""Compares times of the student's calls with those of a yardstick, on the judge's clock."""

from collections.abc import Callable
from typing import Any

from grader.grading_plugin.case import TIMING, YARDSTICK
from grader.grading_plugin.launch_results import Launch, holds
from grader.judge.budgets import assert_within_factor, is_clearly_within
from grader.judge.check_failures import WrongAnswer
from grader.model.report import Outcome

MAX_ATTEMPTS = 3

Check = Callable[[Any, Outcome], None]


def assert_time_ratio(
    measure: Callable[[int], Launch], *, check: Check, factor: float, what: str, yardstick: str
) -> None:
    """Assert that the cases of purpose `timing` take at most `factor` times the `yardstick` ones.

    Both times leave out what the machine did for other programs, as the kernel reports it. If a
    time is not clearly within the limit, it is measured three times, and the fastest runs count:
    another program on the same cores decides nothing.
    Time no more ranks than there are cores: if ranks wait for each other without polling, the
    time of one also counts as that of the others.
    measure: returns the launch of attempt 0, 1, 2. check: raises if a timed case is wrong,
    because only correct work can be timed. what, yardstick: words for the message.
    Raises BudgetExceeded, and what `check` raises.
    """
    yardstick_s: list[float] = []
    student_s: list[float] = []
    for attempt in range(MAX_ATTEMPTS):
        launch = measure(attempt)
        yardstick_s += [outcome.given_time_s for _, outcome in launch.having(purpose=YARDSTICK)]
        for case, outcome in launch.having(purpose=TIMING):
            check(case, outcome)
            student_s.append(outcome.given_time_s)
        if is_clearly_within(student_s, yardstick_s, factor):
            return
    assert_within_factor(student_s, yardstick_s, factor, what=what, yardstick=yardstick)


def same_failures_as(launch: Launch, *checks: Check) -> Check:
    """Return a check: a timed case must be correct wherever the ordinary case is.

    A program that leaves out work when it is timed fails here. A mistake that it makes in every
    case costs the tests that are about this mistake, and not its points for time.
    launch: its first case of purpose `values` is the ordinary one. checks: raise WrongAnswer.
    Raises what iterating the launch raises.
    """
    ordinary = next(iter(launch.having(purpose="values", synchronous_sends=False)))

    def check(case: Any, outcome: Outcome) -> None:
        for each in checks:
            try:
                each(case, outcome)
            except WrongAnswer:
                if holds(each, *ordinary):
                    raise

    return check
