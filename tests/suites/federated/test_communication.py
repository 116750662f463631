"""The written questions as functions: closed forms, against our own and against real traffic."""

import pytest

from grader.suite.marks import part, points

from .communication_cases import (
    Formulas,
    Transfer,
    assert_closed_form,
    assert_measured,
)
from .formulas import VOLUMES

pytestmark = [part("communication"), pytest.mark.mpi]

FORMULAS = (Formulas("closed_forms"),)
TRANSFERS = tuple(Transfer("measure", function=name) for name in VOLUMES)


def _assert_right(run, name):
    for case, outcome in run(1, FORMULAS):
        assert_closed_form(case, outcome, name)


@points(2)
def test_naive_all_reduce(run):
    """naive_all_reduce is how many elements S naive all-reduces of P parameters transmit."""
    _assert_right(run, "naive_all_reduce")


@points(2)
def test_ring_all_reduce(run):
    """ring_all_reduce is how many elements S ring all-reduces of P parameters transmit."""
    _assert_right(run, "ring_all_reduce")


@points(1)
def test_tree_all_reduce(run):
    """tree_all_reduce is how many elements S tree all-reduces of P parameters transmit."""
    _assert_right(run, "tree_all_reduce")


@points(2)
def test_parameter_server(run):
    """parameter_server is how many elements S steps with a server transmit."""
    _assert_right(run, "parameter_server")


@points(2)
def test_fed_avg(run):
    """fed_avg is how many elements R rounds of federated averaging transmit."""
    _assert_right(run, "fed_avg")


@points(1)
def test_tree_reduce_time(run):
    """tree_reduce_time is the time of a reduction up a tree, with messages of time 1."""
    _assert_right(run, "tree_reduce_time")


@points(1)
def test_ring_reduce_time(run):
    """ring_reduce_time is the time of a reduction along a ring, with messages of time 1."""
    _assert_right(run, "ring_reduce_time")


@points(1)
def test_tree_all_reduce_time(run):
    """tree_all_reduce_time is the time of a tree all-reduce, with messages of time 1."""
    _assert_right(run, "tree_all_reduce_time")


@points(1)
def test_ring_all_reduce_time(run):
    """ring_all_reduce_time is the time of a ring all-reduce, with messages of time 1."""
    _assert_right(run, "ring_all_reduce_time")


@points(2)
@pytest.mark.parametrize("ranks", [2, 5])
def test_formulas_agree_with_traffic(run, ranks):
    """The elements that the formulas name are those that really leave the processes."""
    for case, outcome in run(ranks, TRANSFERS, world="mpi"):
        assert_measured(case, outcome)
