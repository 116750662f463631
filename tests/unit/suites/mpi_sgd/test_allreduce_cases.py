"""The all-reduce cases are exact in any order of the ranks, and ask for what the prices name."""

import numpy as np
import pytest
from mpi_sgd.allreduce_cases import (
    PLAIN_LENGTH,
    DrawnReduction,
    GroupReduction,
    Reduction,
    ReductionsInARow,
    cases_by_ranks,
    timing_cases,
)
from mpi_sgd.allreduce_numbers import DRAWN, SERIAL

from ...judge.build import outcome
from .outcomes import inputs_of

CASES = cases_by_ranks("my_ring_allreduce.py", "ringallreduce")
EVERY_CASE = sorted(
    {case for cases in CASES.values() for case in cases if case.probe == "reduce_once"},
    key=lambda case: case.label,
)

SUMS = {name for name, op in SERIAL.items() if op is np.add}
LONG_SUMS = [case for case in EVERY_CASE if case.op in SUMS and case.num_elements >= 7]


@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.label)
def test_the_reduction_does_not_depend_on_the_order_of_the_ranks(case: Reduction) -> None:
    inputs = inputs_of(case, ranks=16)
    expected = case.reduce_serially(inputs)
    assert expected.dtype == np.dtype(case.dtype)
    assert expected.shape == case.shape
    assert np.isfinite(expected).all()
    op = SERIAL[case.op]
    random = np.random.default_rng(1)
    for _ in range(10):
        values = [given["send"] for given in inputs]
        while len(values) > 1:
            pair = random.choice(len(values), 2, replace=False)
            one, other = (values[i] for i in pair)
            values = [value for i, value in enumerate(values) if i not in pair]
            values.append(op(one, other))
        np.testing.assert_array_equal(values[0], expected)


@pytest.mark.parametrize("case", LONG_SUMS, ids=lambda case: case.label)
def test_a_buffer_of_a_smaller_type_shows(case: Reduction) -> None:
    smaller = {"float64": np.float32, "float32": np.int64, "int64": np.float64}[case.dtype]
    for given in inputs_of(case, ranks=2):
        assert not np.array_equal(given["send"].astype(smaller).astype(case.dtype), given["send"])


@pytest.mark.parametrize("ranks", CASES)
def test_no_two_cases_of_a_launch_have_one_label(ranks: int) -> None:
    labels = [case.label for case in CASES[ranks]]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("ranks", CASES)
def test_the_plainest_comes_first_and_what_may_hang_last(ranks: int) -> None:
    cases = [case for case in CASES[ranks] if case.purpose != "yardstick"]
    assert cases[0].subject == ("plain" if ranks > 1 else "one process")
    order = [case.synchronous_sends for case in cases]
    assert order == sorted(order)


@pytest.mark.parametrize("ranks", CASES)
def test_only_cases_about_lengths_have_one_that_the_ranks_do_not_divide(ranks: int) -> None:
    for case in CASES[ranks]:
        if isinstance(case, DrawnReduction):
            continue
        about_lengths = case.subject in ("any length", "fewer elements", "no dimensions")
        assert (case.num_elements % ranks != 0) == about_lengths or ranks == 1, case.label


@pytest.mark.parametrize(
    "cases", [CASES[2], timing_cases("my_ring_allreduce.py", "ringallreduce", 1)]
)
def test_yardsticks_are_measured_before_the_students_file_is_loaded(
    cases: tuple[Reduction, ...],
) -> None:
    purposes = [case.purpose for case in cases]
    assert purposes.count("yardstick") >= purposes.count("timing") >= 3
    assert set(purposes[: purposes.count("yardstick")]) == {"yardstick"}
    assert cases[purposes.index("timing") - 1].purpose == "values"


def test_sizes_lengths_types_and_shapes_are_covered() -> None:
    assert set(CASES) == {1, 2, 3, 4, 5, 8, 16}
    assert {0, 1, 2, 7, 13, 97, 100357} <= {case.num_elements for case in EVERY_CASE}
    assert {case.dtype for case in EVERY_CASE} == {"float32", "float64", "int64"}
    assert {len(case.shape) for case in EVERY_CASE} == {0, 1, 2, 3}
    assert {case.op for case in EVERY_CASE} == set(SERIAL)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_drawn_is_exact_in_any_order_of_the_ranks(seed: int) -> None:
    """And differs from run to run, so that no table has it."""
    cases = [case for case in CASES[4] if isinstance(case, DrawnReduction)]
    assert {case.op for case in cases} == set(DRAWN)
    for case in cases:
        inputs = inputs_of(case, 16, seed)
        expected = case.reduce_serially(inputs)
        np.testing.assert_array_equal(case.reduce_serially(inputs[::-1]), expected)
        assert expected.dtype == np.dtype(case.dtype) == inputs[0]["send"].dtype
        other = inputs_of(case, 16, seed + 1)[0]
        assert other["drawn"] != inputs[0]["drawn"] or case.op != "lambda x, y: x ^ y ^ a"
        assert case.least_length <= len(expected) <= case.most_length
        given = case.as_given(outcome(case, inputs, [{}] * len(inputs)))
        assert given.num_elements == len(expected)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 16])
def test_long_arrays_are_drawn_on_any_number_of_ranks(ranks: int) -> None:
    (case,) = (each for each in CASES[ranks] if isinstance(each, DrawnReduction) and each.is_long)
    lengths = {len(inputs_of(case, ranks, seed)[0]["send"]) for seed in range(20)}
    assert len(lengths) > 10 and PLAIN_LENGTH < min(lengths) <= max(lengths) <= 40_000 // ranks


def test_what_is_given_again_is_what_it_was() -> None:
    case = next(case for case in CASES[4] if case.subject == "plain")
    first = inputs_of(case, 4, seed=1)
    again = Reduction(
        "reduce_watched",
        file=case.file,
        function=case.function,
        shape=case.shape,
        op=case.op,
        given=tuple(each["send"].tobytes() for each in first),
    )
    for one, other in zip(first, inputs_of(again, 4, seed=2), strict=True):
        np.testing.assert_array_equal(one["send"], other["send"])
    assert set(again.results(0, 4)) == {"recv", "send", "meant"}


def test_groups_are_the_even_and_the_odd_ranks() -> None:
    assert [GroupReduction.members(rank, 5) for rank in (0, 3)] == [range(0, 5, 2), range(1, 5, 2)]


def test_in_many_calls_in_a_row_somebody_is_late_before_and_within() -> None:
    """Never before a first send: that would be the same as coming late."""
    (case,) = (case for case in CASES[4] if isinstance(case, ReductionsInARow))
    for seed in range(20):
        inputs = inputs_of(case, 4, seed)
        late = np.array([given["late_calls"] for given in inputs])
        within = np.array([given["late_sends"] for given in inputs])
        assert late.shape == within.shape == (4, case.num_calls)
        assert (late.sum(axis=0) <= 1).all() and ((within >= 0).sum(axis=0) <= 1).all()
        assert late.sum() >= 3 and (within >= 0).sum() >= 10
        assert set(within[within >= 0].tolist()) == {1, 2}
