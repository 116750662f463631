"""The written questions as functions: closed forms, against our own and against real traffic."""

from pathlib import Path

import pytest

from grader.api import part, points

from .answered import Run
from .communication_cases import WAYS, Formulas, Transfer, assert_closed_form, assert_measured

pytestmark = [part("communication"), pytest.mark.mpi]

FORMULAS = (Formulas("closed_forms"),)
TRANSFERS = tuple(Transfer("measure", subject=name, function=name) for name in WAYS)
TRANSFER_RANKS = 5


def _assert_right(run: Run, name: str) -> None:
    for case, outcome in run(1, FORMULAS):
        assert_closed_form(case, outcome, name)


def _assert_right_and_measured(run: Run, name: str) -> None:
    _assert_right(run, name)
    _assert_measured(run, name)


def _assert_measured(run: Run, name: str) -> None:
    transfers = run(TRANSFER_RANKS, TRANSFERS, backend="mpi").having(function=name)
    for case, outcome in transfers:
        assert_measured(case, outcome)


@points(2)
def test_naive_all_reduce(run: Run) -> None:
    """counts the elements of naive all-reduces"""
    _assert_right_and_measured(run, "naive_all_reduce")


@points(1)
def test_tree_reduce_time(run: Run) -> None:
    """gives the time of a tree reduction"""
    _assert_right(run, "tree_reduce_time")


@points(1)
def test_ring_reduce_time(run: Run) -> None:
    """gives the time of a ring reduction"""
    _assert_right(run, "ring_reduce_time")


@points(1.5)
def test_tree_all_reduce_time(run: Run) -> None:
    """gives the time of a tree all-reduce"""
    _assert_right(run, "tree_all_reduce_time")


@points(1.5)
def test_ring_all_reduce_time(run: Run) -> None:
    """gives the time of a ring all-reduce"""
    _assert_right(run, "ring_all_reduce_time")


ANOTHER_FORMULA = (
    test_naive_all_reduce,
    test_tree_reduce_time,
    test_ring_reduce_time,
    test_tree_all_reduce_time,
)
"""Whose answers are another formula: 2 (N - 1) P S in all functions is paid once, in a ring."""


@points(2)
def test_ring_all_reduce(run: Run) -> None:
    """counts the elements of ring all-reduces"""
    _assert_right_and_measured(run, "ring_all_reduce")


@points(2, requires=ANOTHER_FORMULA)
def test_tree_all_reduce(run: Run) -> None:
    """counts the elements of tree all-reduces"""
    _assert_right_and_measured(run, "tree_all_reduce")


@points(2, requires=ANOTHER_FORMULA)
def test_parameter_server(run: Run) -> None:
    """counts the elements of steps with a parameter server"""
    _assert_right_and_measured(run, "parameter_server")


@points(2, requires=ANOTHER_FORMULA)
def test_fed_avg(run: Run) -> None:
    """counts the elements of rounds of federated averaging"""
    _assert_right_and_measured(run, "fed_avg")


if not Path(__file__).with_name("formulas.py").is_file():  # in the students' edition

    @points(0)
    @pytest.mark.parametrize("name", WAYS)
    def test_measured(run: Run, name: str) -> None:
        """counts what 5 processes really send"""
        _assert_measured(run, name)
