"""Whatever shapes a rank sends back, a check finds them right or wrong: it never breaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vgg_ddp import batches, checks, examples, exchange, rules

from grader.judge.check_failures import RuleViolation, WrongAnswer

from .trainings import case, outcome, refused, right

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
    exchange.assert_gradients_given,
    rules.assert_not_through_ddp,
    exchange.assert_something_given,
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
        checks.naming_case(check)(case(), outcome(case(), results))
    except (WrongAnswer, RuleViolation) as error:
        assert error.case == "2 ranks, 2 iterations"
        assert error.findings[0].key


@pytest.mark.parametrize(
    ("name", "change", "shapes"),
    [
        ("used", lambda rows: rows[:, :3], ["used", (2, 3), (2, 2453)]),
        ("local", lambda rows: rows[:1], ["local", (1, 2453), (2, 2453)]),
        ("images", lambda rows: rows[1:], ["images", (11, 3, 32, 32), (12, 3, 32, 32)]),
        ("examples", lambda rows: rows[:0], ["examples", (0,), (12,)]),
        (
            "batch_sizes",
            lambda sizes: np.full(2, 1 << 62),
            ["examples", (12,), (9223372036854775808,)],
        ),
    ],
)
def test_the_message_names_both_shapes(name, change, shapes):
    """Of rank 1, in a training that is right otherwise."""
    facts = dict(zip(("name", "shape", "expected"), shapes, strict=True))
    error = refused(
        checks.assert_steps_with_mean, changed(name, change), "training.shapes_do_not_fit", **facts
    )
    assert f"has shape {shapes[1]}; expected {shapes[2]}" in error.findings[0].text
    assert "2 steps of 2453 parameters" in error.findings[0].text


def test_an_empty_batch_is_told():
    seen = changed("batch_sizes", lambda sizes: sizes * 0)
    refused(checks.assert_steps_with_mean, seen, "training.empty_batch", rank=1)


def changed(name, change):
    """Return an outcome in which a result of rank 1 is changed."""
    results = [dict(each) for each in RIGHT]
    results[1][name] = change(results[1][name])
    return outcome(case(), results)
