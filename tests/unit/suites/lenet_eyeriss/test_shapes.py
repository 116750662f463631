"""Whatever numbers a rank sends back, a check finds them right or wrong: it never breaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from lenet_eyeriss.eyeriss_checks import assert_counts, assert_ofmap

from grader.api import WrongAnswer

from .building import failing
from .test_eyeriss_checks import ABOUT_THE_SCHEDULE, NO_PROBLEMS, SHEETS, answered

RIGHT = answered(SHEETS).results[0]
WHOLE = st.sampled_from((0, 1, 2, 3, -1, -(2**63), 2**63 - 1))
FLOATS = st.floats(width=64)
LENGTHS = st.sampled_from((0, 1, 2, 3, 27, 28, 29))


@st.composite
def answers(draw):
    """Return an answer with other lengths, or with other numbers in a few places."""
    rows, number = draw(LENGTHS), draw(LENGTHS)
    changed = np.resize(RIGHT["schedule"], (rows, 12))
    for _ in range(draw(st.integers(0, 3)) if rows else 0):
        changed[draw(st.integers(0, rows - 1)), draw(st.integers(0, 11))] = draw(WHOLE)
    return {
        "ofmap": draw(arrays(np.float64, st.tuples(LENGTHS, LENGTHS), elements=FLOATS)),
        "schedule": changed,
        "values": draw(arrays(np.float64, number if draw(st.booleans()) else rows)),
        **NO_PROBLEMS,
    }


@settings(max_examples=150, deadline=None)
@given(answer=answers())
def test_other_shapes_are_told(answer) -> None:
    found = answered(SHEETS)
    found.results[0].update(answer)
    with pytest.raises(WrongAnswer, match="handout's example"):
        assert_ofmap(SHEETS, found)
    for check in ABOUT_THE_SCHEDULE:
        try:
            check(SHEETS, found)
        except WrongAnswer as finding:
            assert "handout's example" in str(finding)


@pytest.mark.parametrize(
    ("change", "key", "facts"),
    [
        (
            {"values": np.zeros(3)},
            "schedule.values_do_not_fit",
            {"num_values": 3, "num_operations": 28},
        ),
        ({"schedule": np.full((28, 12), 3)}, "schedule.unknown_op", {"number": 0, "op": 3}),
    ],
)
def test_the_finding_names_what_does_not_fit(change, key: str, facts) -> None:
    found = answered(SHEETS)
    found.results[0].update(change)
    with failing(WrongAnswer, key, **facts):
        assert_counts(SHEETS, found)
