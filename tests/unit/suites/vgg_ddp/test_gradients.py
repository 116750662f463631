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
    gradients.assert_mean(used, LOCAL, first_channels=1, step=2)


@pytest.mark.parametrize(
    ("used", "key", "facts"),
    [
        (np.zeros_like(MEAN), "step.zero_gradient", {}),
        (LOCAL[1], "step.own_gradient", {}),
        (LOCAL[3], "step.other_ranks_gradient", {"other": 3}),
        (
            (LOCAL[0] + LOCAL[1] + LOCAL[2]) / 4,
            "step.unequal_parts",
            {"parts": (0.25, 0.25, 0.25, 0.0)},
        ),
        (0.4 * LOCAL[0] + 0.6 * MEAN, "step.unequal_parts", {"parts": (0.55, 0.15, 0.15, 0.15)}),
    ],
)
def test_usual_mistakes_are_recognised(used, key, facts):
    """On rank 1."""
    instead = gradients.recognised(used, LOCAL, 1, 5, alike=1e-4)
    assert instead.key == key
    assert instead.facts == {"rank": 1, "iteration": 5, **facts}


def test_unequal_parts_are_named():
    used = (LOCAL[0] + LOCAL[1] + LOCAL[2]) / 4
    text = gradients.recognised(used, LOCAL, 1, 5, alike=1e-4).text
    assert "0.25 of rank 0's, 0.25 of rank 1's, 0.25 of rank 2's, and 0 of rank 3's" in text
    assert "the mean contains 0.25 of each" in text


@pytest.mark.parametrize("used", [MEAN + 1, np.full_like(MEAN, np.nan)])
def test_what_is_not_known_has_no_name(used):
    assert gradients.recognised(used, LOCAL, 1, 5, alike=1e-4) is None


def test_a_whole_gradient_is_compared_by_length():
    """Rounding passes, another gradient does not; nor what is not a number."""
    assert gradients.is_like(MEAN + 0.01 * LOCAL[0], MEAN, alike=0.15)
    assert not gradients.is_like(LOCAL[0], MEAN, alike=0.15)
    for other in (np.zeros(3), np.full(3, np.nan)):
        assert not gradients.is_like(np.ones(3), other, alike=0.15)
        assert not gradients.is_multiple(np.ones(3), other, alike=0.15)
    assert gradients.is_multiple(-2 * MEAN, MEAN, alike=1e-4)
