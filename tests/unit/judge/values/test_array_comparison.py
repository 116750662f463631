"""Values are compared exactly where they can be, and differences are told in one sentence."""

import re
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.check_failures import WrongAnswer
from grader.judge.values.array_comparison import (
    assert_every_rank,
    assert_unchanged,
    reduction_tolerance,
    shortest_different,
)


def message_of(arrays, equals, **options):
    with pytest.raises(WrongAnswer) as caught:
        assert_every_rank(arrays, equals, **options)
    return str(caught.value)


# Messages ----------------------------------------------------------------------------------


def test_the_whole_sentence():
    """Rank, index, both values, how many differ, and who agrees with whom."""
    right = np.full(13, 1.265)
    wrong = np.full(13, 0.101)
    wrong[4] = 1.265
    assert message_of([right, right, wrong, right], right, label="4 ranks, sum") == (
        "4 ranks, sum: rank 2: recv[0] is 0.101; expected 1.265 (12 of 13 elements differ); "
        "ranks 0, 1, and 3 agree with each other"
    )


def test_a_lost_tail_shows_as_one_piece():
    """Consecutive elements are given as a range."""
    expected = np.arange(13) + 1
    got = expected.copy()
    got[9:] = 0
    assert message_of([got], expected) == (
        "rank 0: recv[9] is 0; expected 10 (4 of 13 elements differ: indices 9 to 12)"
    )


@pytest.mark.parametrize(
    ("wrong", "clause"),
    [
        ([1, 1, 1, 1], "; all 4 ranks agree with each other"),
        (
            [1, 1, 2, 2],
            "; every rank is wrong; ranks 0 and 1 agree with each other; "
            "ranks 2 and 3 agree with each other",
        ),
        ([1, 2, 3, 4], "; every rank is wrong; no two ranks agree with each other"),
        ([0, 1, 0, 2], "; rank 3 is also wrong; ranks 0 and 2 agree with each other"),
        ([1, 0, 2, 3], "; ranks 2 and 3 are also wrong"),
        ([0, 0, 0, 1], "; ranks 0, 1, and 2 agree with each other"),
        ([2, 1, 1, 1], "; every rank is wrong; ranks 1, 2, and 3 agree with each other"),
        ([1, 1], "; both ranks agree with each other"),
        ([0, 1], "; rank 0 is correct"),
        ([2, 1], "; every rank is wrong"),
        ([1], ""),
    ],
)
def test_who_agrees_with_whom(wrong, clause):
    """Zero is right; equal numbers are equal arrays."""
    expected = np.zeros(3)
    arrays = [expected + number for number in wrong]
    assert message_of(arrays, expected).endswith(f"(3 of 3 elements differ){clause}")


def test_right_within_tolerance_but_not_alike():
    """Ranks that are right need not agree bit by bit."""
    expected = np.ones(2)
    arrays = [expected, expected + 1e-12, expected + 1]
    assert message_of(arrays, expected, atol=1e-9).endswith("; ranks 0 and 1 are correct")


def test_one_expectation_for_each_rank():
    """Agreement means nothing then; who is right does."""
    expected = [np.full(2, rank) for rank in range(3)]
    arrays = [np.full(2, rank) for rank in (0, 0, 2)]
    assert message_of(arrays, expected).endswith("; ranks 0 and 2 are correct")
    assert_every_rank(expected, expected)
    assert_every_rank(expected, tuple(expected))


def test_an_index_of_more_dimensions():
    """Every dimension is named."""
    expected = np.zeros((2, 5))
    got = expected.copy()
    got[1, 3] = 7
    assert message_of([got], expected) == (
        "rank 0: recv[1, 3] is 7; expected 0 (1 of 10 elements differs)"
    )


def test_a_single_number():
    """An array without dimensions has no index."""
    assert message_of([np.array(3)], np.array(4), name="loss") == "rank 0: loss is 3; expected 4"


def test_empty_arrays_are_equal():
    """There is nothing that could differ."""
    assert_every_rank([np.zeros(0), np.zeros((0, 3))[:, 0]], np.zeros(0))
    assert_unchanged([np.zeros((0, 3))], [np.zeros((0, 3))])


def test_other_shapes():
    """Shapes are compared before values."""
    assert message_of([np.zeros(12)], np.zeros(13)).startswith(
        "rank 0: recv has shape (12,); expected (13,)"
    )
    assert message_of([np.zeros((0, 2))], np.zeros((2, 0))).startswith("rank 0: recv has shape")


# Numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "texts"),
    [
        (np.float64(1 / 3), np.float64(2 / 3), ("0.333333", "0.666667")),
        (np.float64(1.0), np.float64(1.0 + 1e-9), ("1", "1.000000001")),
        (np.float64(1.0), np.nextafter(1.0, 2), ("1", "1.0000000000000002")),
        (np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1)), ("0.1", "0.10000001")),
        (np.int64(2**62), np.int64(2**62 + 1), (str(2**62), str(2**62 + 1))),
        (np.float64(np.nan), np.float64(2), ("nan", "2")),
        (np.float64(np.inf), np.float64(-np.inf), ("inf", "-inf")),
        (np.bool_(True), np.bool_(False), ("True", "False")),
        (np.complex128(1 + 2j), np.complex128(1 - 2j), ("1+2j", "1-2j")),
        (np.float64(np.nan), np.float64(np.nan), ("nan", "nan")),
    ],
)
def test_numbers_are_short_but_tell_apart(one, other, texts):
    """Six significant digits, more only where needed."""
    assert shortest_different(one, other) == texts


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_different_floats_print_differently(one, other):
    """Whatever they are."""
    texts = shortest_different(np.float64(one), np.float64(other))
    assert one == other or texts[0] != texts[1]


# What is equal -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64, np.bool_])
def test_whole_numbers_are_exact_whatever_the_tolerance(dtype):
    """A tolerance is for rounding."""
    expected = np.array([1], dtype=dtype)
    message_of([np.array([0], dtype=dtype)], expected, rtol=10.0, atol=10.0)
    assert_every_rank([expected], expected)


def test_large_whole_numbers_are_exact():
    """Beyond what float64 can tell apart, also against floats and unsigned ones."""
    large = np.array([2**53 + 1])
    message_of([large], np.array([2**53]))
    message_of([large.astype(np.float64)], large)
    message_of([large], large.astype(np.float64))
    message_of([np.array([-1])], np.array([2**64 - 1], dtype=np.uint64))
    assert_every_rank([np.array([2.0, 2**60])], np.array([2, 2**60]))


@pytest.mark.parametrize("got", [np.nan, np.inf, -np.inf, 2.0])
@pytest.mark.parametrize("expected", [1.0, np.nan, -np.inf])
def test_nan_and_infinity_pass_only_as_themselves(got, expected):
    """NaN never passes; an infinity only where the same is expected, whatever the tolerance."""
    arrays, oracle = [np.array([0.0, got])], np.array([0.0, expected])
    for options in ({}, {"rtol": 0.5}, {"atol": 1e300}, {"rtol": 0.5, "atol": 0.5}):
        if (got == expected) or (got == 2.0 and expected == 1.0 and options.get("atol") == 1e300):
            assert_every_rank(arrays, oracle, **options)
        elif not (got == 2.0 and expected == 1.0 and options == {"rtol": 0.5, "atol": 0.5}):
            assert "recv[1] is" in message_of(arrays, oracle, **options)


def test_tolerances():
    """|x - e| <= atol + rtol |e|, atol also by element."""
    expected = np.array([100.0, 0.0])
    assert_every_rank([expected + np.array([1, 0])], expected, rtol=0.01)
    message_of([expected + np.array([1.01, 0])], expected, rtol=0.01)
    assert_every_rank([expected + np.array([1.5, 0.5])], expected, rtol=0.01, atol=0.5)
    assert_every_rank([expected + np.array([1, 0])], expected, atol=np.array([1.0, 0.0]))
    message_of([expected + np.array([0, 1])], expected, atol=np.array([1.0, 0.0]))
    assert_every_rank([np.array([0.0])], np.array([-0.0]))


def test_float32_is_compared_in_float64():
    """A difference of float32 values does not overflow."""
    most = np.finfo(np.float32).max
    message_of([np.array([most], np.float32)], np.array([-most], np.float32), rtol=1.0)
    assert_every_rank([np.array([0.1], np.float32)], np.array([0.1]), rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{"atol": np.inf}, {"atol": np.nan}, {"rtol": np.inf}, {"rtol": -1.0}, {"atol": -1}]
)
def test_a_tolerance_that_lets_everything_pass_is_refused(options):
    """That is a mistake of the suite, not an answer."""
    with pytest.raises(ValueError, match="finite"):
        assert_every_rank([np.zeros(1)], np.zeros(1), **options)


def test_as_many_expectations_as_ranks():
    """Anything else is a mistake of the suite."""
    with pytest.raises(
        ValueError, match="expected arrays: 1, ranks: 2; give one array for each rank"
    ):
        assert_every_rank([np.zeros(1)] * 2, [np.zeros(1)])
    with pytest.raises(ValueError, match="ranks: 0"):
        assert_every_rank([], np.zeros(1))
    with pytest.raises(ValueError, match="ranks: 2"):
        assert_unchanged([np.zeros(1)] * 2, [np.zeros(1)])


# Unchanged ---------------------------------------------------------------------------------


def test_a_changed_input():
    """What it is, what it was, and how much changed."""
    before = np.array([1.0, np.nan, 0.5, 0.5])
    after = np.array([1.0, np.nan, 1.25, 0.75])
    assert_unchanged([before.copy()], [before])
    with pytest.raises(WrongAnswer) as caught:
        assert_unchanged([before, after], [before, before])
    assert str(caught.value) == (
        "rank 1: send[2] is 1.25 after the call, but was 0.5 before (2 of 4 elements changed: "
        "indices 2 to 3); the call must not change send"
    )


@pytest.mark.parametrize("after", [[1.0, np.nan], [1.0 + 2**-52, 2.0], [2.0, 2.0], [1.0]])
def test_the_smallest_change_counts(after):
    """Exact, and a NaN that was none before is a change."""
    with pytest.raises(WrongAnswer, match="send"):
        assert_unchanged([np.array(after)], [np.array([1.0, 2.0])])


# Tolerance of a sum ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_order_of_a_sum_is_within_the_tolerance(dtype):
    """All 120 orders of five terms, in which much cancels."""
    terms = np.array([1.0, 1e6, -1e6, 3.3e-3, 7.7], dtype)
    sums = []
    for order in permutations(terms):
        total = dtype(0)
        for term in order:
            total = dtype(total + term)
        sums.append(total)
    tolerance = reduction_tolerance(5, dtype, np.abs(terms).sum())
    exact = sum(map(Fraction, terms.tolist()))
    assert max(sums) - min(sums) <= tolerance
    assert max(abs(Fraction(float(each)) - exact) for each in sums) <= tolerance
    assert tolerance < 10
    assert len(set(sums)) > 1


def test_the_tolerance_by_element():
    """(n - 1) eps sum|x|; nothing for one term or whole numbers."""
    magnitudes = np.array([[1.0, 2.0], [0.0, -4.0]])
    eps = np.finfo(np.float64).eps
    np.testing.assert_array_equal(
        reduction_tolerance(4, "float64", magnitudes), 3 * eps * np.abs(magnitudes)
    )
    assert not reduction_tolerance(1, np.float32, magnitudes).any()
    assert not reduction_tolerance(9, np.int64, magnitudes).any()


def test_labels_come_first():
    """The case is named before the rank."""
    with pytest.raises(WrongAnswer, match=re.escape("3 ranks: rank 0: send[0] is 1 after")):
        assert_unchanged([np.ones(1)], [np.zeros(1)], label="3 ranks")
