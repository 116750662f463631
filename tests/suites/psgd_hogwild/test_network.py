"""The network: twelve layers in the order of the sheet, ten classes."""

import pytest

from grader.suite.marks import part, points

from .network_cases import (
    Network,
    assert_dropout_only_in_training,
    assert_layers,
    assert_probabilities,
)
from .sources import Sources, assert_no_solver

pytestmark = [part("network"), pytest.mark.mpi]

CASES = (Network(batch_size=3), Network(batch_size=1), Sources(file="network.py"))


@points(2)
def test_layers_are_those_of_the_sheet(run):
    """A forward pass runs the twelve layers in the order that the sheet gives."""
    for case, outcome in run(1, CASES).having(probe="run_network"):
        assert_layers(case, outcome)


@points(1)
def test_ten_classes_with_probabilities(run):
    """Every image gets ten numbers that are the probabilities of the classes."""
    for case, outcome in run(1, CASES).having(probe="run_network"):
        assert_probabilities(case, outcome)


@points(1, requires=test_ten_classes_with_probabilities)
def test_dropout_ends_with_training(run):
    """After eval() nothing is dropped: the same images get the same probabilities."""
    for case, outcome in run(1, CASES).having(probe="run_network"):
        assert_dropout_only_in_training(case, outcome)


@points(1, requires=test_ten_classes_with_probabilities)
def test_no_other_solver(run):
    """No file handed in imports scikit-learn or another package that trains models."""
    for _, outcome in run(1, CASES).having(probe="read_sources"):
        assert_no_solver(outcome)
