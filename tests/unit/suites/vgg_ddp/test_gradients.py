"""A wrong gradient is called by its name."""

import numpy as np
import pytest
from vgg_ddp import gradients, serial

from grader.judge.findings import WrongAnswer

RANKS = 4
LOCAL = [
    np.random.default_rng(rank).normal(size=serial.num_parameters(1)).astype(np.float32)
    for rank in range(RANKS)
]
MEAN = np.mean(LOCAL, axis=0).astype(np.float32)


def judge(used):
    gradients.assert_mean(used, LOCAL, first_channels=1, step=2, label="4 ranks")


def test_the_mean_in_any_order_passes():
    """Scaled before or after the sum, summed forwards or backwards."""
    backwards = sum(reversed(LOCAL)) / np.float32(RANKS)
    before = sum(each / np.float32(RANKS) for each in LOCAL)
    judge([MEAN, backwards, before, MEAN])


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (np.zeros_like(MEAN), "rank 1 steps with a gradient that is zero"),
        (LOCAL[1], "rank 1 steps with the gradient of its own batch alone"),
        (LOCAL[3], "rank 1 steps with the gradient of rank 3 alone"),
        (RANKS * MEAN, "rank 1 steps with 4 times the mean.*divided by the number of ranks, 4"),
        (MEAN / 2, "rank 1 steps with 0.5 times the mean"),
    ],
)
def test_usual_mistakes_are_recognised(used, words):
    """In iteration 2, on rank 1."""
    with pytest.raises(WrongAnswer, match="4 ranks: in iteration 2, " + words):
        judge([MEAN, used, MEAN, MEAN])


def test_anything_else_names_parameter_and_element():
    """One element of one parameter."""
    used = MEAN.copy()
    used[27 + 1] += 0.5
    with pytest.raises(WrongAnswer, match=r"rank 2: gradient of features\.1\.bias\[0\] is "):
        judge([MEAN, MEAN, used, MEAN])


def test_a_whole_gradient_is_compared_by_length():
    """Rounding passes, another gradient does not."""
    close = MEAN + 0.01 * LOCAL[0]
    gradients.assert_gradient_of_batch(close, MEAN, tolerance=0.15, what="it")
    with pytest.raises(WrongAnswer, match="it differs from the serial one by"):
        gradients.assert_gradient_of_batch(LOCAL[0], MEAN, tolerance=0.15, what="it")
