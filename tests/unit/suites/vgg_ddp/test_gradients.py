"""A wrong gradient is called by its name."""

import numpy as np
import pytest
from vgg_ddp import gradients, serial

RANKS = 4
LOCAL = [
    np.random.default_rng(rank).normal(size=serial.num_parameters(1)).astype(np.float32)
    for rank in range(RANKS)
]
MEAN = np.mean(LOCAL, axis=0).astype(np.float32)


def test_the_mean_in_any_order_passes():
    """Scaled before or after the sum, summed forwards or backwards."""
    backwards = sum(reversed(LOCAL)) / np.float32(RANKS)
    before = sum(each / np.float32(RANKS) for each in LOCAL)
    used = [MEAN, backwards, before, MEAN]
    gradients.assert_mean(used, LOCAL, first_channels=1, step=2, label="4 ranks")


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (np.zeros_like(MEAN), "a gradient that is zero"),
        (LOCAL[1], "the gradient of its own batch alone"),
        (LOCAL[3], "the gradient of rank 3 alone"),
        (
            (LOCAL[0] + LOCAL[1] + LOCAL[2]) / 4,
            "0.25 of rank 0's, 0.25 of rank 1's, 0.25 of rank 2's and 0 of rank 3's gradient",
        ),
        (LOCAL[0] / 2 + MEAN / 2, "0.62 of rank 0's, 0.12 of rank 1's.*the mean takes 0.25 of"),
    ],
)
def test_usual_mistakes_are_recognised(used, words):
    """On rank 1."""
    instead = gradients.recognised(used, LOCAL, 1, alike=1e-4)
    assert instead.replace("(", "").startswith(words.split(".*")[0])
    assert all(each in instead for each in words.split(".*"))


@pytest.mark.parametrize("used", [MEAN + 1, np.full_like(MEAN, np.nan)])
def test_what_is_not_known_has_no_name(used):
    assert gradients.recognised(used, LOCAL, 1, alike=1e-4) == ""


def test_a_whole_gradient_is_compared_by_length():
    """Rounding passes, another gradient does not; nor what is not a number."""
    assert gradients.is_like(MEAN + 0.01 * LOCAL[0], MEAN, alike=0.15)
    assert not gradients.is_like(LOCAL[0], MEAN, alike=0.15)
    for other in (np.zeros(3), np.full(3, np.nan)):
        assert not gradients.is_like(np.ones(3), other, alike=0.15)
        assert not gradients.is_multiple(np.ones(3), other, alike=0.15)
    assert gradients.is_multiple(-2 * MEAN, MEAN, alike=1e-4)
