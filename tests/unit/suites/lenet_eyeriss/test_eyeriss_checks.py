"""The checks of the eyeriss part pass a right answer, and say what a wrong one looks like."""

from dataclasses import replace

import numpy as np
import pytest
from lenet_eyeriss.eyeriss_cases import CONVOLUTIONS, COUNTS, Convolution, convolve
from lenet_eyeriss.eyeriss_checks import (
    assert_counts,
    assert_cycles_count_from_one,
    assert_ofmap,
    assert_one_operation_a_cycle,
    assert_operands_exist,
    assert_outputs_leave_on_time,
    assert_own_rows,
    assert_sequential_cycles,
    assert_times,
    assert_values,
)
from lenet_eyeriss.schedule import Work

from grader.api import WrongAnswer

from ...judge.build import outcome
from .building import failing, right_schedule

SHEETS, SAME_SIZE, *_ = CONVOLUTIONS
RULES = (assert_own_rows, assert_one_operation_a_cycle, assert_operands_exist, assert_values)
ABOUT_THE_SCHEDULE = (
    assert_counts,
    *RULES,
    assert_outputs_leave_on_time,
    assert_cycles_count_from_one,
)
NO_PROBLEMS = {"ofmap_problem": "", "schedule_problem": "", "operands_problem": ""}


def answered(case, change=lambda schedule: schedule, ofmap=None):
    """Return the outcome of a right answer whose schedule is changed this way."""
    inputs = case.inputs(np.random.default_rng(2), 1, None)
    ifmap, kernel = inputs[0]["ifmap"], inputs[0]["kernel"]
    schedule = change(right_schedule(ifmap, kernel))
    result = {
        "ofmap": (convolve(ifmap, kernel) if ofmap is None else ofmap).astype(np.float64),
        "schedule": np.array([row(work) for work in schedule], dtype=np.int64).reshape(-1, 12),
        "values": np.array([work.value for work in schedule]),
        **NO_PROBLEMS,
    }
    return outcome(case, inputs, [result])


def row(work: Work) -> list[int]:
    op = ("multiply", "add", "psum").index(work.op)
    operands = [*work.kernel, *work.ifmap, work.tap, *work.psum_from]
    return [work.cycle, *work.pe, op, work.out_col, *operands]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda case: case.label)
def test_a_right_answer_passes_every_check(case: Convolution) -> None:
    found = answered(case)
    for check in (assert_ofmap, *ABOUT_THE_SCHEDULE):
        check(case, found)


def test_the_example_comes_with_other_numbers_too() -> None:
    assert SAME_SIZE.shapes == SHEETS.shapes
    assert SAME_SIZE.subject == SHEETS.subject
    sheets, other = (
        case.inputs(np.random.default_rng(2), 1, None)[0]["ifmap"] for case in (SHEETS, SAME_SIZE)
    )
    assert (sheets != other).any()


def test_a_turned_kernel_and_a_transposed_output_are_recognised() -> None:
    ifmap = np.array([[1, 3, 9], [4, 5, 6], [7, 4, 9]])
    case = SAME_SIZE
    (given,) = case.inputs(np.random.default_rng(2), 1, None)
    turned = convolve(given["ifmap"], given["kernel"][::-1, ::-1])
    with failing(WrongAnswer, "ofmap.kernel_turned", "value.differs"):
        assert_ofmap(case, answered(case, ofmap=turned))
    right = convolve(ifmap, np.array([[-1, 2], [2, -1]]))
    with failing(WrongAnswer, "ofmap.transposed", "value.differs"):
        assert_ofmap(SHEETS, answered(SHEETS, ofmap=right.T))


def test_one_operation_after_the_other_is_the_time_of_a_single_element() -> None:
    def one_by_one(schedule):
        order = sorted(
            schedule,
            key=lambda work: (work.pe[1], work.out_col, -work.pe[0], work.cycle),
        )
        return [replace(work, cycle=cycle) for cycle, work in enumerate(order, start=1)]

    found = answered(SHEETS, one_by_one)
    for rule in RULES:
        rule(SHEETS, found)
    keys = "latency.one_operation_at_a_time", "latency.wrong_cycle"
    with failing(WrongAnswer, *keys, cycles=28):
        assert_outputs_leave_on_time(SHEETS, found)


def test_late_outputs_and_work_after_the_last_are_told() -> None:
    def later(schedule):
        return [replace(work, cycle=work.cycle + (work.cycle > 7)) for work in schedule]

    def afterwards(schedule):
        return [replace(w, cycle=9) if w.pe == (1, 0) and w.cycle == 6 else w for w in schedule]

    with failing(WrongAnswer, "latency.wrong_cycle", output=(0, 1), cycle=9, expected=8):
        assert_outputs_leave_on_time(SHEETS, answered(SHEETS, later))
    with failing(WrongAnswer, "latency.work_after_last_output", cycle=9, makespan=8):
        assert_outputs_leave_on_time(SHEETS, answered(SHEETS, afterwards))


@pytest.mark.parametrize(
    ("num_in_order", "told"),
    [
        (1, "1 of the 12 adds comes after its operands and has its PE"),
        (2, "2 of the 12 adds come after"),
    ],
)
def test_where_most_adds_are_in_no_order_the_times_are_not_compared(num_in_order, told) -> None:
    def at_once(schedule):
        """Give each PE's adds the first cycle, but the last adds of some PE a later one each."""
        adds = [work for work in schedule if work.op != "multiply"][-num_in_order:]
        late = {id(work): 100 + number for number, work in enumerate(adds)}
        return [replace(work, cycle=late.get(id(work), 1)) for work in schedule]

    with pytest.raises(WrongAnswer, match=told):
        assert_outputs_leave_on_time(SHEETS, answered(SHEETS, at_once))


def test_counts_name_both_kinds_of_operation() -> None:
    facts = {"num_multiplies": 15, "num_adds": 12, "expected": (16, 12)}
    with failing(WrongAnswer, "schedule.wrong_counts", **facts):
        assert_counts(SHEETS, answered(SHEETS, lambda schedule: schedule[1:]))


def test_a_first_cycle_with_another_number_costs_its_own_test_only() -> None:
    found = answered(SHEETS, lambda schedule: [replace(w, cycle=w.cycle - 1) for w in schedule])
    for check in (*RULES, assert_outputs_leave_on_time):
        check(SHEETS, found)
    with failing(WrongAnswer, "schedule.does_not_begin_in_cycle_1", first=0):
        assert_cycles_count_from_one(SHEETS, found)


@pytest.mark.parametrize(
    "change",
    [
        lambda schedule: [],
        lambda schedule: schedule[:1] * 28,
        lambda schedule: schedule * 3,
        lambda schedule: [
            next(other for other in schedule if other.op == work.op) for work in schedule
        ],
    ],
    ids=["nothing", "one again and again", "all of it three times", "one of each kind"],
)
@pytest.mark.parametrize("rule", RULES)
def test_no_rule_is_kept_by_a_schedule_that_is_none(rule, change) -> None:
    with failing(WrongAnswer, "schedule.wrong_size", expected=28):
        rule(SHEETS, answered(SHEETS, change))


@pytest.mark.parametrize(
    "what, key, checks",
    [
        ("ofmap", "ofmap.malformed", (assert_ofmap,)),
        ("schedule", "schedule.malformed", ABOUT_THE_SCHEDULE),
        (
            "operands",
            "schedule.operands_malformed",
            (assert_own_rows, assert_operands_exist, assert_values),
        ),
    ],
)
def test_what_the_probe_says_costs_what_it_is_about(what: str, key: str, checks) -> None:
    found = answered(SHEETS)
    found.results[0][f"{what}_problem"] = "it is None"
    for check in (assert_ofmap, *ABOUT_THE_SCHEDULE):
        if check in checks:
            with pytest.raises(WrongAnswer, match=r"handout's example.*it is None") as caught:
                check(SHEETS, found)
            assert [each.key for each in caught.value.findings] == [key]
        else:
            check(SHEETS, found)


@pytest.mark.parametrize(
    "told, key",
    [
        ("row_stationary returns None; expected the pair (ofmap, schedule).", "dataflow.no_pair"),
        ("row_stationary is not written yet", "dataflow.not_written"),
    ],
)
def test_an_answer_that_is_none_has_one_cause(told: str, key: str) -> None:
    found = answered(SHEETS)
    found.results[0].update(dict.fromkeys(NO_PROBLEMS, told))
    for check in (assert_ofmap, assert_counts, *RULES):
        if check is not assert_one_operation_a_cycle:
            with failing(WrongAnswer, key):
                check(SHEETS, found)


def test_sequential_cycles_counts_every_operation() -> None:
    case = COUNTS[1]
    inputs = case.inputs(np.random.default_rng(2), 1, None)
    right = [
        (h - r + 1) * (w - s + 1) * (2 * r * s - 1) for h, w, r, s in inputs[0]["shapes"].tolist()
    ]
    assert_sequential_cycles(
        case, outcome(case, inputs, [{"cycles": np.array(right), "problem": ""}])
    )
    numbers = "sequential.wrong_number"
    for cycles, keys in ((8, [numbers]), (13, ["sequential.time_of_the_array", numbers])):
        right[0] = cycles
        found = outcome(case, inputs, [{"cycles": np.array(right), "problem": ""}])
        with pytest.raises(WrongAnswer) as caught:
            assert_sequential_cycles(case, found)
        assert [each.key for each in caught.value.findings] == keys
        facts = {"call": "sequential_cycles((4, 4), (3, 2))", "cycles": cycles, "expected": 66}
        assert caught.value.findings[-1].facts == facts


@pytest.mark.parametrize(
    "told, key",
    [
        ("sequential_cycles returns None; expected a whole number.", "sequential.no_whole_number"),
        ("sequential_cycles is not written yet", "sequential.not_written"),
    ],
)
def test_a_count_that_is_none_is_told(told: str, key: str) -> None:
    case = COUNTS[0]
    inputs = case.inputs(np.random.default_rng(2), 1, None)
    found = outcome(case, inputs, [{"cycles": np.array([-1]), "problem": told}])
    with failing(WrongAnswer, key):
        assert_sequential_cycles(case, found)


@pytest.mark.parametrize(
    "told, end",
    [
        ("sequential_cycles is not written yet", "it raises NotImplementedError."),
        ("comes last", 'it raises NotImplementedError("comes last").'),
    ],
)
def test_only_the_students_own_message_is_quoted(told: str, end: str) -> None:
    case = COUNTS[0]
    inputs = case.inputs(np.random.default_rng(2), 1, None)
    with pytest.raises(WrongAnswer) as caught:
        assert_sequential_cycles(case, outcome(case, inputs, [{"cycles": [], "problem": told}]))
    assert caught.value.findings[0].text == f"sequential_cycles is not written yet: {end}"


def test_a_schedule_needs_no_operands_if_its_products_are_there():
    found = answered(SAME_SIZE)
    found.results[0]["operands_problem"] = "schedule[0]: kernel is None."
    assert_outputs_leave_on_time(SAME_SIZE, found)


def test_times_alone_are_no_schedule():
    found = answered(SAME_SIZE, lambda schedule: [replace(work, value=0) for work in schedule])
    found.results[0]["operands_problem"] = "schedule[0]: kernel is None."
    with pytest.raises(WrongAnswer, match="the schedule has none of the 16 products"):
        assert_outputs_leave_on_time(SAME_SIZE, found)
    assert_times(SAME_SIZE, found)


def test_values_need_operands():
    def moved(work: Work) -> Work:
        return replace(work, kernel=(99, work.kernel[1])) if work.op == "multiply" else work

    found = answered(SAME_SIZE, lambda schedule: [*map(moved, schedule)])
    with pytest.raises(WrongAnswer, match="None of the 28 operations have operands that exist"):
        assert_values(SAME_SIZE, found)
