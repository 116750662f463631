"""What a wrong sum is made of is told, and nothing is told that is not certain."""

import numpy as np
import pytest

from grader.judge.values.contributions import factor_text, sum_text

LENGTH = 24


def arrays(ranks: int, dtype: str = "float64", seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    if dtype == "int64":
        return [random.integers(-(2**58), 2**58, LENGTH) for _ in range(ranks)]
    if dtype == "float32":
        return [np.float32(random.integers(-(2**12), 2**12, LENGTH) / 8) for _ in range(ranks)]
    return [random.integers(-(2**40), 2**40, LENGTH) / 2**30 for _ in range(ranks)]


@pytest.mark.parametrize("dtype", ["float64", "int64", "float32"])
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 16])
def test_every_contribution_is_told(ranks: int, dtype: str) -> None:
    """Also in a part of the array only, as of one chunk."""
    each = arrays(ranks, dtype)
    total = np.sum(each, axis=0)
    for changed, told in (
        (total + each[1], "it contains the contribution of rank 1 (twice)"),
        (total - each[0] + each[1], "rank 1 (twice) and nothing from rank 0"),
        (each[1], "it contains only rank 1's own contribution"),
        (each[0], "it contains only the contribution of rank 0"),
    ):
        got = total.copy()
        got[5:15] = changed[5:15]
        assert told in sum_text(got, each, own=1)


def test_what_is_missing_is_told() -> None:
    each = arrays(5)
    got = np.sum(each[:4], axis=0)
    assert sum_text(got, each, own=0) == "it lacks the contribution of rank 4"
    got = each[0] + each[3]
    assert sum_text(got, each, own=0) == "it contains only the contributions of ranks 0 and 3"
    assert sum_text(got + 2 * each[0], each) == (
        "it contains the contribution of rank 0 (3 times) and nothing from ranks 1, 2, and 4"
    )


def test_strangers_are_told_by_their_names() -> None:
    each = arrays(4)
    old = np.full(LENGTH, 777.0)
    late = arrays(1, seed=5)[0]
    strangers = {"777, which recv held before,": old, "rank 2's array of call 3": late}
    total = np.sum(each, axis=0)
    assert sum_text(total + old, each, strangers=strangers) == (
        "it also contains 777, which recv held before"
    )
    assert sum_text(total - each[2] + late, each, strangers=strangers) == (
        "it lacks the contribution of rank 2 and it also contains rank 2's array of call 3"
    )
    assert sum_text(old, each, strangers=strangers) == (
        "it contains only 777, which recv held before"
    )


def test_another_places_result_or_parts_are_told() -> None:
    each = arrays(4)
    total = np.sum(each, axis=0)
    assert sum_text(np.roll(total, 6), each) == (
        "it is the correct result for [18], probably in another chunk"
    )
    got = total.copy()
    got[:6] = (each[1] + each[2])[12:18]
    assert sum_text(got, each) == (
        "it contains what ranks 1 and 2 have at [12], probably in another chunk"
    )
    assert "[3, 0]" in sum_text(np.roll(total, 6).reshape(4, 6), [a.reshape(4, 6) for a in each])


def test_what_cannot_be_told_is_not() -> None:
    each = arrays(4)
    total = np.sum(each, axis=0)
    random = np.random.default_rng(9)
    assert sum_text(total, each) == "", "nothing is wrong"
    assert sum_text(random.random(LENGTH), each) == ""
    assert sum_text(np.full(LENGTH, np.nan), each) == ""
    assert sum_text(np.zeros(0), [np.zeros(0)] * 3) == ""
    few_bits = [np.float32(random.integers(0, 4, 1)) for _ in range(8)]
    assert sum_text(few_bits[0] + 1, few_bits) == "", "one small number may be anything"
    assert sum_text(total * 0 + 1, [np.ones(LENGTH)] * 4) == "", "all contributions are alike"


@pytest.mark.parametrize("ranks", [2, 3, 5, 16])
def test_multiples_and_means(ranks: int) -> None:
    for dtype in ("float64", "float32"):
        total = np.sum(arrays(ranks, dtype), axis=0)
        assert factor_text(total * ranks, total, ranks) == (
            f"every element is exactly n = {ranks} times the expected value"
        )
        told = f"this is the mean over {ranks} ranks, not the sum"
        assert factor_text(total / np.asarray(ranks, dtype), total, ranks) == told
        assert factor_text(total, total, ranks) == ""
    whole = np.sum(arrays(ranks, "int64"), axis=0) >> 8
    assert factor_text(whole // ranks, whole, ranks) == told
    assert factor_text(np.zeros(3), np.zeros(3), ranks) == "", "zero times anything is zero"
    assert factor_text(total * 2, total, 3) == "every element is exactly 2 times the expected value"
