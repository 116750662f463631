"""The network: twelve layers in the order of the sheet, ten classes."""

from functools import partial

import pytest

from grader.api import part, points, stage

from .network_cases import (
    Layers,
    Network,
    assert_all_but_sizes,
    assert_all_layers,
    assert_can_learn,
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
    Network(batch_size=0, subject="several images"),
    Network(batch_size=1, subject="one image"),
    Sources(file="network.py"),
)


@points(0.25)
def test_all_layers_are_there(run):
    """has the twelve layers of the handout, in any order"""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_all_layers(case, outcome)


@points(1)
def test_convolutional_half_is_in_order(run):
    """runs the first eight layers in order (conv1 to max pool)"""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_convolutional_half(case, outcome)


@points(0.5)
def test_classifying_half_is_in_order(run):
    """runs the last four layers in order (fc1 to softmax)"""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_classifying_half(case, outcome)


needs_layers = partial(
    points,
    requires=(
        test_all_layers_are_there,
        test_convolutional_half_is_in_order,
        test_classifying_half_is_in_order,
    ),
)


@needs_layers(1)
def test_ten_classes_with_probabilities(run):
    """returns the probabilities of ten classes for every image"""
    for case, outcome in run(1, CASES).having(subject="several images"):
        assert_output_follows(case, outcome)
        assert_can_learn(case, outcome)
        assert_probabilities(case, outcome)


@needs_layers(0.75)
def test_dropout_ends_with_training(run):
    """drops activations in training only"""
    for case, outcome in run(1, CASES).having(subject="several images"):
        assert_output_follows(case, outcome)
        assert_can_learn(case, outcome)
        assert_dropout_only_in_training(case, outcome)


@needs_layers(1)
def test_one_image(run):
    """works for a batch of one image"""
    launch = run(1, CASES)
    for case, outcome in launch.having(subject="one image"):
        assert_output_follows(case, outcome)
        assert_one_row(case, outcome)
    for case, outcome in launch.having(subject="several images"):
        assert_can_learn(case, outcome)


@needs_layers(0.5)
def test_no_other_solver(run):
    """imports no model-training package other than torch"""
    launch = run(1, CASES)
    for case, outcome in launch.having(subject="several images"):
        assert_output_follows(case, outcome)
    assert_no_solver(launch)


@stage(2)
def test_layers_are_in_order_but_for_a_size(run):
    """has all layers in order, except for one wrong size"""
    for case, outcome in run(1, CASES).having(probe="run_layers"):
        assert_all_but_sizes(case, outcome)
