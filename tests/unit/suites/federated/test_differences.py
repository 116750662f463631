"""When a step of a script counts as the one that was expected."""

import numpy as np
import pytest
from federated import lenet
from federated.differences import fits, follows

from grader.oracles import packed, unpacked

ALL = tuple(lenet.SHAPES)


@pytest.mark.parametrize(
    ("changed", "share", "is_followed"),
    [
        ((), 0.0, True),
        (ALL[:6], 0.05, True),
        (ALL[:2], 0.3, True),
        (ALL[:6], 1.0, False),
        (ALL, 0.05, False),
        (ALL, 0.01, False),
        (ALL[8:], 0.05, False),
    ],
)
def test_a_relu_that_rounding_decides_makes_no_other_step(changed, share, is_followed):
    """It changes the layers below it by little; another step changes the last layer too."""
    random = np.random.default_rng(1)
    before, way = random.normal(size=(2, lenet.NUM_PARAMETERS)) * [[0.1], [0.01]]
    ways = dict(unpacked(way, lenet.SHAPES))
    for name in changed:
        ways[name] = ways[name] * (1 + share)
    expected, model = before + way, before + packed(ways, lenet.SHAPES)
    assert follows(model, expected, before) == is_followed
    # Where no such unit is looked for, it must not count as a mistake.
    assert fits(model, expected, before) == (share < 0.02)
