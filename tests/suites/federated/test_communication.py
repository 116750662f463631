"""The written questions as functions: closed forms, against our own."""

from pathlib import Path

import pytest

from grader.api import part, points

from .answered import Run
from .communication_cases import TIMES, VOLUMES, Formulas, assert_called, assert_closed_form

pytestmark = [part("communication"), pytest.mark.mpi]

FORMULAS = (Formulas("closed_forms"),)


def _assert_right(run: Run, name: str) -> None:
    for case, outcome in run(1, FORMULAS):
        assert_closed_form(case, outcome, name)


@points(2)
def test_naive_all_reduce(run: Run) -> None:
    """counts the elements that naive all-reduces send"""
    _assert_right(run, "naive_all_reduce")


@points(1)
def test_tree_reduce_time(run: Run) -> None:
    """returns the time of a tree reduction"""
    _assert_right(run, "tree_reduce_time")


@points(1)
def test_ring_reduce_time(run: Run) -> None:
    """returns the time of a ring reduction"""
    _assert_right(run, "ring_reduce_time")


@points(1.5)
def test_tree_all_reduce_time(run: Run) -> None:
    """returns the time of a tree all-reduce"""
    _assert_right(run, "tree_all_reduce_time")


@points(1.5)
def test_ring_all_reduce_time(run: Run) -> None:
    """returns the time of a ring all-reduce"""
    _assert_right(run, "ring_all_reduce_time")


ANOTHER_FORMULA = (
    test_naive_all_reduce,
    test_tree_reduce_time,
    test_tree_all_reduce_time,
)
"""Whose answers are another formula: who writes 2 (N - 1) in all functions is paid for a ring."""


@points(2)
def test_ring_all_reduce(run: Run) -> None:
    """counts the elements that ring all-reduces send"""
    _assert_right(run, "ring_all_reduce")


@points(2, requires=ANOTHER_FORMULA)
def test_tree_all_reduce(run: Run) -> None:
    """counts the elements that tree all-reduces send"""
    _assert_right(run, "tree_all_reduce")


@points(2, requires=ANOTHER_FORMULA)
def test_parameter_server(run: Run) -> None:
    """counts the elements sent with a parameter server"""
    _assert_right(run, "parameter_server")


@points(2, requires=ANOTHER_FORMULA)
def test_fed_avg(run: Run) -> None:
    """counts the elements that federated averaging sends"""
    _assert_right(run, "fed_avg")


if not Path(__file__).with_name("formulas.py").is_file():  # in the students' edition

    @points(0)
    @pytest.mark.parametrize("name", [*VOLUMES, *TIMES])
    def test_called(run: Run, name: str) -> None:
        """returns a number"""
        for case, outcome in run(1, FORMULAS):
            assert_called(case, outcome, name)
