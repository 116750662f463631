"""The replay accepts every right schedule, and tells each way of breaking one by its own rule."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lenet_eyeriss.eyeriss_cases import CONVOLUTIONS, convolve
from lenet_eyeriss.replay import Rule, broken_rules, leaving_cycles
from lenet_eyeriss.schedule import Matrix, Sizes, Work, works

from .building import right_schedule

SHEETS_IFMAP = np.array([[1, 3, 9], [4, 5, 6], [7, 4, 9]])
SHEETS_KERNEL = np.array([[-1, 2], [2, -1]])


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    """Draw a kernel of up to 4 x 4 and an ifmap that gives an output of up to 4 x 4; no zeros."""
    rows, taps, out_rows, out_cols = (draw(st.integers(1, 4)) for _ in range(4))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ifmap = random.integers(1, 30, (rows + out_rows - 1, taps + out_cols - 1))
    return ifmap, random.choice([-1, 1], (rows, taps)) * random.integers(1, 10, (rows, taps))


def rules(schedule: Iterable[Work], ifmap: Matrix, kernel: Matrix) -> set[Rule]:
    in_order = sorted(schedule, key=lambda work: (work.cycle, work.pe))
    return {broken.rule for broken in broken_rules(in_order, ifmap, kernel)}


def pick(draw: st.DataObject, schedule: list[Work], **fields: object) -> int:
    """Draw the index of an operation with these fields; give the example up if there is none."""
    found = [
        index
        for index, work in enumerate(schedule)
        if all(getattr(work, name) == value for name, value in fields.items())
    ]
    assume(found)
    return draw.draw(st.sampled_from(found))


@given(convolutions())
@settings(max_examples=60, deadline=None)
def test_a_right_schedule_breaks_no_rule_and_gives_the_convolution(arrays) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    assert broken_rules(schedule, ifmap, kernel) == []
    sizes = Sizes.of(ifmap, kernel)
    assert len(schedule) == sizes.num_multiplies + sizes.num_adds
    left = leaving_cycles(schedule, sizes)
    values = {(w.cycle, w.pe): w.value for w in schedule}
    for (e, f), expected in np.ndenumerate(convolve(ifmap, kernel)):
        assert left[e, f] == sizes.leaves_in(f)
        assert values[left[e, f], (0, e)] == expected
    assert schedule[-1].cycle == sizes.leaves_in(sizes.out_cols - 1)


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_missing_operation_is_told(arrays, data) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    lost = schedule.pop(pick(data, schedule))
    broken = broken_rules(schedule, ifmap, kernel)
    (own,) = [each.finding for each in broken if each.rule is Rule.OWN_WORK]
    assert own.key == "dataflow.never_done"
    assert (own.facts["pe"], own.facts["op"]) == (lost.pe, lost.op)


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_an_operation_done_twice_is_told(arrays, data) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    again = replace(schedule[pick(data, schedule)], cycle=schedule[-1].cycle + 1)
    assert rules([*schedule, again], ifmap, kernel) == {Rule.OWN_WORK}


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_two_operations_in_a_cycle_are_told(arrays, data) -> None:
    """A multiply needs nothing that was made before, so it may be put anywhere without more."""
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    index = pick(data, schedule, op="multiply")
    work = schedule[index]
    earlier = [w.cycle for w in schedule if w.pe == work.pe and w.cycle < work.cycle]
    assume(earlier)
    schedule[index] = replace(work, cycle=data.draw(st.sampled_from(earlier)))
    assert rules(schedule, ifmap, kernel) == {Rule.ONE_A_CYCLE}


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_an_operand_that_comes_too_late_is_told(arrays, data) -> None:
    """An add is put into the cycle that makes one of its operands."""
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    index = pick(data, schedule, op=data.draw(st.sampled_from(["add", "psum"])))
    work = schedule[index]
    source = work.pe if work.op == "add" else work.psum_from
    operand = max(
        each.cycle
        for each in schedule
        if (each.pe, each.out_col) == (source, work.out_col)
        and (work.op == "psum" or (each.op == "multiply" and each.kernel[1] == work.tap))
    )
    schedule[index] = replace(work, cycle=operand)
    found = rules(schedule, ifmap, kernel)
    assert Rule.OPERANDS in found
    assert found <= {Rule.OPERANDS, Rule.ONE_A_CYCLE}


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_wrong_value_is_told_at_its_operation_alone(arrays, data) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    index = pick(data, schedule)
    schedule[index] = replace(schedule[index], value=schedule[index].value + 1)
    (broken,) = broken_rules(schedule, ifmap, kernel)
    assert broken.rule is Rule.VALUE
    assert broken.finding.key == "dataflow.wrong_value"
    assert broken.finding.text.startswith(str(schedule[index]))


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_row_of_another_element_is_told(arrays, data) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    index = pick(data, schedule, op="multiply")
    work = schedule[index]
    which = data.draw(st.sampled_from(["kernel", "ifmap"]))
    array = kernel if which == "kernel" else ifmap
    row, column = getattr(work, which)
    others = [each for each in range(len(array)) if each != row]
    assume(others)
    schedule[index] = replace(work, **{which: (data.draw(st.sampled_from(others)), column)})
    (told,) = [b for b in broken_rules(schedule, ifmap, kernel) if b.rule is Rule.OWN_WORK]
    assert told.finding.key == f"dataflow.other_{which}_row"


@given(convolutions(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_psum_of_another_element_is_told(arrays, data) -> None:
    ifmap, kernel = arrays
    schedule = right_schedule(ifmap, kernel)
    index = pick(data, schedule, op="psum")
    elements = {work.pe for work in schedule} | {(kernel.shape[0], 0), (-1, -1)}
    other = data.draw(st.sampled_from(sorted(elements - {schedule[index].psum_from})))
    schedule[index] = replace(schedule[index], psum_from=other)
    assert Rule.OWN_WORK in rules(schedule, ifmap, kernel)


@given(st.data(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_no_schedule_is_too_odd_to_be_told_what_is_wrong(data, seed) -> None:
    """Whatever numbers a student reports, there is a sentence and no crash."""
    random = np.random.default_rng(seed)
    length = data.draw(st.integers(1, 40))
    table = random.integers(-2, 5, (length, 12))
    table[:, 3] = random.integers(0, 3, length)
    schedule = works(table, random.normal(size=length))
    assert broken_rules(schedule, SHEETS_IFMAP, SHEETS_KERNEL)
    leaving_cycles(schedule, Sizes.of(SHEETS_IFMAP, SHEETS_KERNEL))


def test_the_sheets_example_has_the_sheets_numbers() -> None:
    schedule = right_schedule(SHEETS_IFMAP, SHEETS_KERNEL)
    sizes = Sizes.of(SHEETS_IFMAP, SHEETS_KERNEL)
    assert convolve(SHEETS_IFMAP, SHEETS_KERNEL).tolist() == [[8, 19], [16, 6]]
    assert (sizes.num_multiplies, sizes.num_adds, len(schedule)) == (16, 12, 28)
    assert leaving_cycles(schedule, sizes) == {(0, 0): 4, (1, 0): 4, (0, 1): 8, (1, 1): 8}
    assert schedule[-1].cycle == 8


def test_a_sentence_names_cycle_element_and_what_it_should_have_been() -> None:
    schedule = right_schedule(SHEETS_IFMAP, SHEETS_KERNEL)
    index = next(i for i, w in enumerate(schedule) if w.op == "psum" and w.pe == (0, 1))
    schedule[index] = replace(schedule[index], cycle=3)
    early = next(
        b.finding
        for b in broken_rules(schedule, SHEETS_IFMAP, SHEETS_KERNEL)
        if b.rule is Rule.OPERANDS
    )
    assert early.key == "dataflow.operand_too_early"
    assert early.text == (
        "In cycle 3, PE(0, 1) adds the psum of PE(1, 1) for output column 0, but its own complete "
        "sum is not ready until cycle 4."
    )


def test_cases_have_labels_of_their_own_and_numbers_without_zero() -> None:
    cases = [case for case in CONVOLUTIONS if case.probe == "run_dataflow"]
    assert len({case.label for case in cases}) == len(cases)
    for case in cases:
        (given_to_rank,) = case.inputs(np.random.default_rng(1), 1, None)
        ifmap, kernel = given_to_rank["ifmap"], given_to_rank["kernel"]
        assert case.shapes in (None, (ifmap.shape, kernel.shape))
        assert ifmap.all()
        assert kernel.all()


@pytest.mark.parametrize("is_square", [False, True])
def test_shapes_are_drawn(is_square: bool) -> None:
    """Others for each seed, so that nobody knows them before; a kernel is square or long."""
    drawn_cases = [case for case in CONVOLUTIONS if case.shapes is None]
    (case,) = (case for case in drawn_cases if case.is_square == is_square)
    drawn = set()
    for seed in range(20):
        (given_to_rank,) = case.inputs(np.random.default_rng(seed), 1, None)
        sizes = Sizes.of(given_to_rank["ifmap"], given_to_rank["kernel"])
        assert min(sizes.kernel_rows, sizes.taps, sizes.out_rows, sizes.out_cols) > 1
        assert (sizes.kernel_rows == sizes.taps) == is_square
        assert is_square or max(sizes.kernel_rows, sizes.taps) > 5
        drawn.add(sizes)
    assert len(drawn) > 15
