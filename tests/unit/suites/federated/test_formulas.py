"""The closed forms: small numbers counted by hand, and each known slip told as what it is."""

from math import log2

import numpy as np
import pytest
from federated.formulas import TIMES, VOLUMES, assert_time, assert_volume, levels

from .runs import raises

ARGUMENTS = [[10, n, 7] for n in (1, 2, 3, 4, 5, 8, 11)]
NUMBERS = [[n] for n in (1, 2, 3, 4, 5, 8, 11)]


def test_volumes_of_four_processes():
    """Counted by hand: 10 parameters, 4 processes, 7 steps."""
    found = {name: formula(10, 4, 7) for name, formula in VOLUMES.items()}
    assert found == {
        "naive_all_reduce": 840,
        "ring_all_reduce": 420,
        "tree_all_reduce": 420,
        "parameter_server": 420,
        "fed_avg": 420,
    }


@pytest.mark.parametrize(("n", "number"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)])
def test_levels_of_a_tree(n, number):
    assert levels(n) == number


@pytest.mark.parametrize("name", VOLUMES)
def test_right_volumes_hold(name):
    values = np.array([VOLUMES[name](*each) for each in ARGUMENTS], dtype=float)
    assert_volume(name, ARGUMENTS, values, counts_server=True)


def test_workers_only_holds_where_it_is_said():
    values = np.array([2 * n * p * s for p, n, s in ARGUMENTS], dtype=float)
    assert_volume("fed_avg", ARGUMENTS, values, counts_server=False)
    with raises("volume.server_not_counted", name="fed_avg"):
        assert_volume("fed_avg", ARGUMENTS, values, counts_server=True)


@pytest.mark.parametrize(
    ("name", "formula", "key"),
    [
        ("ring_all_reduce", lambda p, n, s: 2 * (n - 1) / n * p * s, "volume.of_one_process"),
        ("parameter_server", lambda p, n, s: (n - 1) * p * s, "volume.one_way"),
        ("naive_all_reduce", lambda p, n, s: (n - 1) * p * s, "volume.of_one_sender"),
        ("naive_all_reduce", lambda p, n, s: n * n * p * s, "volume.to_oneself"),
        ("ring_all_reduce", lambda p, n, s: n * (n - 1) * p * s, "volume.naive"),
        ("ring_all_reduce", lambda p, n, s: 2 * n * p * s, "volume.two_arrays_too_many"),
        ("tree_all_reduce", lambda p, n, s: n * log2(n) * p * s, "volume.recursive_doubling"),
        ("tree_all_reduce", lambda p, n, s: n**3 * p * s, "formula.differs"),
        ("fed_avg", lambda p, n, s: float("nan"), "formula.differs"),
    ],
)
def test_a_slip_is_named(name, formula, key):
    values = np.array([formula(*each) for each in ARGUMENTS])
    with raises(key, match="returned .*; expected", name=name):
        assert_volume(name, ARGUMENTS, values, counts_server=True)


def test_values_are_told_with_what_is_expected():
    values = np.array([float("nan")] * len(ARGUMENTS))
    with raises(
        "formula.differs", match=r"fed_avg\(10, 1, 7\) returned nan; expected 0. 7 of 7 calls"
    ):
        assert_volume("fed_avg", ARGUMENTS, values, counts_server=True)


@pytest.mark.parametrize("name", TIMES)
def test_right_times_hold(name):
    assert_time(name, NUMBERS, np.array([TIMES[name](n) for (n,) in NUMBERS], dtype=float))


def test_log2_may_be_left_uncut():
    assert_time("tree_all_reduce_time", NUMBERS, np.array([2 * log2(n) for (n,) in NUMBERS]))


@pytest.mark.parametrize(
    ("name", "formula", "key"),
    [
        ("tree_reduce_time", lambda n: int(log2(n)), "time.rounded_down"),
        ("ring_reduce_time", lambda n: n, "time.one_step_too_many"),
        ("ring_all_reduce_time", lambda n: 2 * (n - 1) / n, "time.elements_counted"),
        ("tree_all_reduce_time", levels, "time.of_tree_reduce"),
    ],
)
def test_a_slip_in_a_time_is_named(name, formula, key):
    with raises(key, name=name):
        assert_time(name, NUMBERS, np.array([formula(n) for (n,) in NUMBERS], dtype=float))
