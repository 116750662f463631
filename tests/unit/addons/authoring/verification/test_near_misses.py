"""Near misses change the floating-point numbers of one result and nothing else."""

from dataclasses import replace

import numpy as np
from observations import RANKS, answered, exchanged, plan

from grader.addons.authoring.verification.mutation import NearMiss, changeable_names
from grader.recording.observation import LaunchObservation

ARRAYS = {
    "x": np.array([1.0, -2.0], dtype=np.float32),
    "y": np.ones(1),
    "n": np.array([3]),
    "zero": np.zeros(2),
}
CASE = answered(exchanged())
OBSERVED = LaunchObservation(
    (replace(CASE, ranks=tuple(replace(rank, arrays=ARRAYS) for rank in CASE.ranks)),)
)


def test_one_result_is_too_large_and_the_rest_stays():
    """On all ranks; the calls are those of the right solution."""
    (case,) = NearMiss(lambda plan: OBSERVED, "x", 0.01).observe(plan()).cases
    assert len(case.ranks) == RANKS
    for rank, right in zip(case.ranks, OBSERVED.cases[0].ranks, strict=True):
        assert rank.arrays["x"].dtype == np.float32
        assert np.allclose(rank.arrays["x"], [1.01, -2.02])
        others = {name: array for name, array in rank.arrays.items() if name != "x"}
        assert others == {name: ARRAYS[name] for name in ARRAYS if name != "x"}
        assert rank.trace == right.trace


def test_only_numbers_that_can_be_missed_have_names():
    """Neither whole numbers, nor zeros, of which a part is nothing."""
    assert changeable_names([]) == []
    assert changeable_names([OBSERVED, OBSERVED]) == ["x", "y"]
