"""Whatever shapes a rank sends back, a check finds them right or wrong: it never breaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vgg_ddp import checks, examples, gradients, rules

from grader.judge.findings import RuleViolation, WrongAnswer

from .trainings import case, outcome, right

RANKS = 2
CHECKS = (
    checks.assert_steps_with_mean,
    checks.assert_steps_with_serial_mean,
    checks.assert_own_gradients,
    checks.assert_sgd_steps,
    checks.assert_replicas_equal,
    rules.assert_not_through_ddp,
    rules.assert_through_ddp,
    examples.assert_examples_shared_out,
)
RIGHT = right(RANKS, num_steps=2)
FORM = case(2).results(0, RANKS)
ARRAYS = sorted(name for name, form in FORM.items() if hasattr(form, "shape"))


def open_dimensions(name):
    return [axis for axis, length in enumerate(FORM[name].shape) if length is None]


@st.composite
def other_shapes(draw):
    """Return results in which a few arrays have other lengths, as their form allows."""
    results = [dict(each) for each in RIGHT]
    for name in draw(st.lists(st.sampled_from(ARRAYS), min_size=1, max_size=3)):
        rank = draw(st.integers(0, RANKS - 1))
        array = results[rank][name]
        shape = list(array.shape)
        axis = draw(st.sampled_from(open_dimensions(name)))
        shape[axis] = draw(st.sampled_from((0, 1, 2, 3, shape[axis] + 1)))
        results[rank][name] = np.resize(array, shape)
    return results


@settings(max_examples=60, deadline=None)
@given(results=other_shapes(), check=st.sampled_from(CHECKS))
def test_other_shapes_are_told(results, check):
    try:
        check(case(2), outcome(case(2), results))
    except (WrongAnswer, RuleViolation) as finding:
        assert "2 ranks, 2 iterations: " in str(finding)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("used", lambda rows: rows[:, :3], r"used has shape \(2, 3\), expected \(2, 2453\)"),
        ("local", lambda rows: rows[:1], r"local has shape \(1, 2453\), expected \(2, 2453\)"),
        ("images", lambda rows: rows[1:], r"images has shape \(11, 3, 32, 32\), expected \(12, "),
        ("labels", lambda rows: rows[:0], r"labels has shape \(0,\), expected \(12,\): 2 steps of"),
        ("batch_sizes", lambda sizes: sizes * 0, "rank 1 trains on a batch of 0 examples"),
        (
            "batch_sizes",
            lambda sizes: np.full(2, 1 << 62),
            r"labels has shape \(12,\), expected \(9223372036854775808,\)",
        ),
    ],
)
def test_the_message_names_both_shapes(name, change, words):
    """Of rank 1, in a training that is right otherwise."""
    results = [dict(each) for each in RIGHT]
    results[1][name] = change(results[1][name])
    with pytest.raises(WrongAnswer, match=words):
        checks.assert_steps_with_mean(case(2), outcome(case(2), results))


@pytest.mark.parametrize("wanted", [np.zeros(3), np.full(3, np.nan)])
def test_a_gradient_is_like_none_that_is_zero_or_no_number(wanted):
    with pytest.raises(WrongAnswer, match="it differs from the serial one"):
        gradients.assert_gradient_of_batch(np.ones(3), wanted, tolerance=0.15, what="it")
