"""The all-reduce cases are exact in any order of the ranks; their verdicts are the right ones."""

import numpy as np
import pytest
from mpi_sgd import allreduce_cases
from mpi_sgd.allreduce_cases import Reduction, assert_reduced, cases_by_ranks, timing_cases

from grader.judge.findings import WrongAnswer

from .outcomes import inputs_of, outcome

CASES = cases_by_ranks("my_ring_allreduce.py", "ringallreduce")
EVERY_CASE = sorted(
    {case for cases in CASES.values() for case in cases if case.purpose == "values"},
    key=lambda case: case.label,
)

SUMS = {"np.add", "lambda x, y: x + y", "MPI.SUM"}
LONG_SUMS = [case for case in EVERY_CASE if case.op in SUMS and case.num_elements >= 7]


@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.label)
def test_the_reduction_does_not_depend_on_the_order_of_the_ranks(case: Reduction) -> None:
    inputs = inputs_of(case, ranks=16)
    expected = case.reduce_serially(inputs)
    assert expected.dtype == np.dtype(case.dtype)
    assert np.isfinite(expected).all()
    op = allreduce_cases._SERIAL[case.op]
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
def test_cases_without_buffering_come_last(ranks: int) -> None:
    order = [case.synchronous_sends for case in CASES[ranks]]
    assert order == sorted(order)


@pytest.mark.parametrize(
    "cases", [CASES[2], timing_cases("my_ring_allreduce.py", "ringallreduce", 1)]
)
def test_yardsticks_are_measured_before_the_students_file_is_loaded(
    cases: tuple[Reduction, ...],
) -> None:
    purposes = [case.purpose for case in cases]
    assert purposes.count("yardstick") == purposes.count("timing") >= 3
    assert set(purposes[: purposes.count("yardstick")]) == {"yardstick"}
    assert cases[purposes.index("timing") - 1].purpose == "values"


def test_sizes_lengths_types_and_shapes_are_covered() -> None:
    assert set(CASES) == {1, 2, 3, 4, 5, 8, 16}
    lengths = {case.num_elements for case in EVERY_CASE}
    assert {0, 1, 2, 7, 13, 64, 97, 784 * 128} <= lengths
    assert {case.dtype for case in EVERY_CASE} == {"float32", "float64", "int64"}
    assert {len(case.shape) for case in EVERY_CASE} == {1, 2, 3}
    assert {case.op for case in EVERY_CASE} == set(allreduce_cases._SERIAL)


def values_case() -> Reduction:
    return next(case for case in CASES[3] if case.label == "length 13, np.add, float64")


def test_the_right_reduction_holds() -> None:
    case = values_case()
    inputs = inputs_of(case, 3)
    right = case.reduce_serially(inputs)
    assert_reduced(case, outcome(case, inputs, [{"recv": right}] * 3))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda right: np.full_like(right, 777), r"rank 1: recv still holds what it held before"),
        (lambda right: right + 777, r"rank 1: what recv held before the call, 777 everywhere"),
        (lambda right: np.concatenate([right[:-1], [0.0]]), r"rank 1: recv\[12\] is 0"),
    ],
)
def test_a_wrong_reduction_is_told_by_rank_and_case(wrong, told: str) -> None:
    case = values_case()
    inputs = inputs_of(case, 3)
    right = case.reduce_serially(inputs)
    results = [{"recv": right}, {"recv": wrong(right)}, {"recv": right}]
    with pytest.raises(WrongAnswer, match=r"3 ranks, length 13, np\.add, float64: " + told):
        assert_reduced(case, outcome(case, inputs, results))


def test_a_timed_reduction_is_checked_like_any_other() -> None:
    case = next(case for case in CASES[2] if case.purpose == "timing")
    inputs = inputs_of(case, 2)
    right = case.reduce_serially(inputs)
    assert right.shape == case.shape
    assert len(np.unique(right)) > 0.999 * right.size, "one part may stand for another"
    assert_reduced(case, outcome(case, inputs, [{"recv": right}] * 2))
    with pytest.raises(WrongAnswer):
        assert_reduced(case, outcome(case, inputs, [{"recv": right}, {"recv": right + 1}]))
