"""The network: twelve layers in the order of the sheet, ten classes."""

import pytest

from grader.api import part, points

from .network_cases import (
    Layers,
    Network,
    assert_all_layers,
    assert_classifying_half,
    assert_convolutional_half,
    assert_dropout_only_in_training,
    assert_one_row,
    assert_output_follows,
    assert_probabilities,
)
from .sources import Sources, assert_no_solver

pytestmark = [part("network"), pytest.mark.mpi]

CASES = (
    Layers(batch_size=3),
    Network(batch_size=3, subject="several images"),
    Network(batch_size=1, subject="one image"),
    Sources(file="network.py"),
)


@points(0.75)
def test_all_layers_are_there(run):
    """The network has the twelve layers that are asked for and no others, in whatever order."""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_all_layers(case, outcome)


@points(1)
def test_convolutional_half_is_in_order(run):
    """The first eight layers come in the order asked for, from conv1 to the last max pool."""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_convolutional_half(case, outcome)


@points(0.75)
def test_classifying_half_is_in_order(run):
    """The last four layers are fc1, ReLU, fc2, softmax."""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_classifying_half(case, outcome)


@points(1, requires=(test_convolutional_half_is_in_order, test_classifying_half_is_in_order))
def test_ten_classes_with_probabilities(run):
    """Every image gets ten numbers that are the probabilities of the classes."""
    for case, outcome in run(1, CASES).having(subject="several images"):
        assert_output_follows(case, outcome)
        assert_probabilities(case, outcome)


@points(0.5, requires=(test_convolutional_half_is_in_order, test_classifying_half_is_in_order))
def test_dropout_ends_with_training(run):
    """Dropout acts in training; after eval() the same images get the same probabilities."""
    for case, outcome in run(1, CASES).having(subject="several images"):
        assert_output_follows(case, outcome)
        assert_dropout_only_in_training(case, outcome)


@points(0.5, requires=(test_convolutional_half_is_in_order, test_classifying_half_is_in_order))
def test_one_image(run):
    """A batch of one image works like any other batch."""
    for case, outcome in run(1, CASES).having(subject="one image"):
        assert_output_follows(case, outcome)
        assert_one_row(case, outcome)


@points(0.5, requires=(test_convolutional_half_is_in_order, test_classifying_half_is_in_order))
def test_no_other_solver(run):
    """Nothing that is handed in imports scikit-learn or another package that trains models."""
    launch = run(1, CASES)
    calls = []
    for case, outcome in launch.having(subject="several images"):
        assert_output_follows(case, outcome)
        calls.append(outcome)
    files = [outcome for _, outcome in launch.having(probe="read_sources")]
    assert_no_solver(*files, *calls)
