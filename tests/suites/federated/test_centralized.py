"""Centralized training: given, and worth no points; it is what the others are compared with."""

from grader.suite.marks import part, points

from .sgd_cases import assert_shared_out, assert_trained
from .training_cases import Training

pytestmark = [part("centralized")]

CASES = (Training("train", file="cent_sgd.py", num_training=100),)


@points(0)
def test_model_is_that_of_sgd(run):
    """The model is that of 3 epochs of SGD in batches of 100, learning rate 0.01, momentum 0.9."""
    for case, outcome in run(1, CASES):
        assert_trained(case, outcome, computing=[0], holders=[0])


@points(0)
def test_every_example_is_seen_once_an_epoch(run):
    """Each of the 3 epochs goes through all training examples once, in batches of 100."""
    for case, outcome in run(1, CASES):
        assert_shared_out(case, outcome, computing=[0])
