"""A step with a wider network: whose gradients it uses, at the places that are seen."""

from dataclasses import replace

import numpy as np
import pytest
from vgg_ddp.wide import assert_averaged_when_wide, assert_part_averaged_when_wide

from grader.api import WrongAnswer
from grader.grading_plugin.launch_results import make_launch

from .trainings import case, outcome, right

WIDE = case("wide")
LOCAL = np.random.default_rng(3).normal(size=(2, 1, 50)).astype(np.float32)
MEAN = LOCAL.mean(axis=0)


def wide(*used):
    """Return the launch of ranks that step with these gradients."""
    results = [
        {**each, "local": local, "used": own}
        for each, local, own in zip(right(2), LOCAL, used, strict=True)
    ]
    seen = replace(outcome(WIDE, results), inputs=({"first_channels": 30},) * 2)
    return make_launch((WIDE,), [seen], 2)


@pytest.mark.parametrize("factor", [1, 2])
def test_the_mean_and_the_sum_use_all_gradients(factor):
    assert_averaged_when_wide(wide(factor * MEAN, factor * MEAN))


@pytest.mark.parametrize("used", [(MEAN, LOCAL[1]), tuple(LOCAL), (0 * MEAN, 0 * MEAN)])
def test_other_gradients_are_not_the_mean(used):
    with pytest.raises(WrongAnswer, match="30 channels"):
        assert_averaged_when_wide(wide(*used))


def test_half_of_the_numbers_are_a_part():
    half = np.where(np.arange(50) < 25, MEAN[np.newaxis], LOCAL)
    assert_part_averaged_when_wide(wide(*half))
    with pytest.raises(WrongAnswer):
        assert_part_averaged_when_wide(wide(*LOCAL))
