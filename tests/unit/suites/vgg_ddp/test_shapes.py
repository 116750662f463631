"""Whatever shapes a rank sends back, a check finds them right or wrong: it never breaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vgg_ddp import batches, checks, examples, rules

from grader.judge.check_failures import RuleViolation, WrongAnswer

from .trainings import case, outcome, right

RANKS = 2
CHECKS = (
    batches.assert_nothing_left,
    batches.assert_own_gradients,
    batches.assert_steps_use_all_batches,
    batches.assert_steps_with_mean_of_batches,
    checks.assert_replicas_equal,
    checks.assert_sgd_steps,
    checks.assert_starts_equal,
    checks.assert_steps_use_all,
    checks.assert_steps_with_mean,
    examples.assert_batch_sizes,
    examples.assert_one_epoch,
    examples.assert_shared_out,
    rules.assert_gradients_given,
    rules.assert_not_through_ddp,
    rules.assert_something_given,
    rules.assert_through_ddp,
    rules.assert_wrapped,
)
RIGHT = right(RANKS, num_steps=2)
FORM = case().results(0, RANKS)
ARRAYS = sorted(name for name, form in FORM.items() if None in getattr(form, "shape", ()))


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
        check(case(), outcome(case(), results))
    except (WrongAnswer, RuleViolation) as finding:
        assert "2 ranks, 2 iterations: " in str(finding)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("used", lambda rows: rows[:, :3], r"used has shape \(2, 3\), expected \(2, 2453\)"),
        ("local", lambda rows: rows[:1], r"local has shape \(1, 2453\), expected \(2, 2453\)"),
        ("images", lambda rows: rows[1:], r"images has shape \(11, 3, 32, 32\), expected \(12, "),
        (
            "examples",
            lambda rows: rows[:0],
            r"examples has shape \(0,\), expected \(12,\): 2 steps",
        ),
        ("batch_sizes", lambda sizes: sizes * 0, "rank 1 trains on a batch of 0 examples"),
        (
            "batch_sizes",
            lambda sizes: np.full(2, 1 << 62),
            r"examples has shape \(12,\), expected \(9223372036854775808,\)",
        ),
    ],
)
def test_the_message_names_both_shapes(name, change, words):
    """Of rank 1, in a training that is right otherwise."""
    results = [dict(each) for each in RIGHT]
    results[1][name] = change(results[1][name])
    with pytest.raises(WrongAnswer, match=words):
        checks.assert_steps_with_mean(case(), outcome(case(), results))
