"""Time costs points only when it was measured again; wrong work is never timed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from grader.grading_plugin.launch_results import Launch, make_launch
from grader.grading_plugin.timing import assert_time_ratio, same_failures_as
from grader.judge.check_failures import BudgetExceeded, WrongAnswer
from grader.model.report import Outcome
from grader.trace.calls import Trace


@dataclass(frozen=True)
class Timed:
    purpose: str
    label: str = "timed"
    synchronous_sends: bool = False


def launch(yardstick_s: Sequence[float], student_s: Sequence[float]) -> Launch:
    blank = Outcome("timed", 2, (), (), Trace(()), 0.0)
    timed = [(Timed("yardstick"), time_s) for time_s in yardstick_s]
    timed += [(Timed("timing"), time_s) for time_s in student_s]
    outcomes = [replace(blank, wall_time_s=9 * time_s, given_time_s=time_s) for _, time_s in timed]
    return make_launch([case for case, _ in timed], outcomes, 2)  # type: ignore[arg-type]


def attempts_needed(ratios: Sequence[float], check=lambda case, outcome: None) -> int:
    asked = []

    def measure(attempt: int) -> Launch:
        asked.append(attempt)
        return launch([1.0, 1.0, 1.0], [ratios[attempt]] * 3)

    try:
        assert_time_ratio(measure, check=check, factor=10, what="it", yardstick="the other")
    finally:
        assert asked == list(range(len(asked)))
    return len(asked)


def test_within_the_budget_one_measurement_is_enough() -> None:
    assert attempts_needed([3.0]) == 1


def test_a_slow_first_measurement_is_forgiven_by_the_second() -> None:
    assert attempts_needed([50.0, 3.0]) == 2


def test_doubt_is_measured_three_times() -> None:
    assert attempts_needed([12.0, 12.0, 9.0]) == 3
    assert attempts_needed([9.0, 9.0, 9.0]) == 3
    with pytest.raises(BudgetExceeded):
        attempts_needed([12.0, 12.0, 12.0])


def test_a_yardstick_that_was_disturbed_does_not_make_slow_code_fast() -> None:
    """Within the budget by a hair is doubted as well, and all that was measured counts."""
    yardsticks = [[3.0, 3.1], [1.0, 2.9], [3.0, 3.1]]
    with pytest.raises(BudgetExceeded, match="30 times the 1 s of the other"):
        assert_time_ratio(
            lambda attempt: launch(yardsticks[attempt], [30.0, 31.0]),
            check=lambda case, outcome: None,
            factor=10,
            what="it",
            yardstick="the other",
        )


def test_far_too_slow_is_believed_when_measured_three_times() -> None:
    with pytest.raises(
        BudgetExceeded, match=r"it took 50 s \(fastest of 9 runs\), 50 times the 1 s of the other"
    ):
        attempts_needed([60.0, 50.0, 70.0])
    assert attempts_needed([60.0, 50.0, 3.0]) == 3


def test_wrong_work_is_not_timed() -> None:
    def check(case, outcome) -> None:
        raise WrongAnswer("rank 0: recv[0] is 1; expected 2")

    with pytest.raises(WrongAnswer):
        attempts_needed([1.0], check)


def one_case(purpose: str, label: str) -> Launch:
    outcome = Outcome(label, 2, (), (), Trace(()), 0.0)
    return make_launch([Timed(purpose, label)], [outcome], 2)  # type: ignore[list-item]


def is_right(case: Timed, outcome: Outcome) -> None:
    if "wrong" in case.label:
        raise WrongAnswer(case.label)


def does_not_tire(case: Timed, outcome: Outcome) -> None:
    if "tired" in case.label:
        raise WrongAnswer(case.label)


@pytest.mark.parametrize(
    ("ordinary", "timed", "told"),
    [
        ("right", "right", ""),
        ("right", "wrong", "wrong"),
        ("wrong", "wrong as before", ""),
        ("wrong", "wrong and tired", "wrong and tired"),
        ("wrong", "right", ""),
    ],
)
def test_only_what_is_right_elsewhere_has_to_be_right_when_timed(
    ordinary: str, timed: str, told: str
) -> None:
    check = same_failures_as(one_case("values", ordinary), is_right, does_not_tire)
    ((case, outcome),) = one_case("timing", timed)
    if told:
        with pytest.raises(WrongAnswer, match=told):
            check(case, outcome)
    else:
        check(case, outcome)
