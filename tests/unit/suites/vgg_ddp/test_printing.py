"""A loss counts as printed in any words, of one iteration or of twenty, to the end."""

import numpy as np
import pytest
from vgg_ddp import printing
from vgg_ddp.train_cases import Printing

from .trainings import outcome, refused

CASE = Printing("print_losses", file="part1/main.py", num_full_batches=41)
LOSSES = np.geomspace(2.345678, 0.956789, 42)


def printed(text, losses=LOSSES):
    ends = np.zeros(len(losses), dtype=np.int64)
    return outcome(CASE, [{"losses": losses, "printed": text, "printed_before": ends}])


@pytest.mark.parametrize(
    "line",
    [
        lambda last: f"iteration {last}: loss {LOSSES[last]:.4f}",
        lambda last: f"[1, {last}] loss={LOSSES[last - 1]}",
        lambda last: f"mean of the last 20: {np.mean(LOSSES[last - 20 : last]):.3f}\naccuracy 0.1",
        lambda last: f"Iteration {last} loss: {sum(LOSSES[last - 20 : last + 1]) / 20:.3f}",
        lambda last: f"mean of all so far {np.mean(LOSSES[: last + 1]):.5f}",
        lambda last: f"tensor({LOSSES[last]:.4f}, grad_fn=<NllLossBackward0>)",
        lambda last: f"Deduction:{LOSSES[last - 1]:.2f}, next",
    ],
)
def test_losses_in_any_words_are_found(line):
    printing.assert_loss_printed(CASE, printed("\n".join(map(line, (20, 40)))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "done",
        f"iteration 0: loss {LOSSES[0]:.4f}",
        f"mean of all {np.mean(LOSSES) + 0.05:.4f}",
        f"version {LOSSES[20]:.1f}",
    ],
)
def test_a_text_without_them_is_told(text):
    error = refused(
        printing.assert_loss_printed, printed(text), "printing.no_loss", CASE, iteration=20
    )
    assert "iteration 19 or 20" in error.findings[0].text
    assert "every 20 iterations" in error.findings[0].help


def test_a_text_that_ends_after_the_first_is_told():
    """As of a program that prints in iterations 0 to 19, or in the first 20 only."""
    text = "\n".join(f"iteration {i}: {LOSSES[i]:.4f}" for i in range(21))
    error = refused(
        printing.assert_loss_printed, printed(text), "printing.stops_early", CASE, iteration=40
    )
    assert "iteration 39 or 40, counted from 0" in error.findings[0].text


def test_a_training_that_is_too_short_says_so():
    seen = printed("", LOSSES[:3])
    refused(printing.assert_loss_printed, seen, "printing.too_few_steps", CASE, steps=3)


def test_losses_among_very_many_numbers_of_one_iteration_are_not_found():
    text = " ".join(f"{number / 50:.2f}" for number in range(250))
    refused(printing.assert_loss_printed, printed(f"{text} {text}"), "printing.no_loss", CASE)


def test_many_numbers_are_nothing_strange_over_many_iterations():
    lines = [f"{i}: loss {loss:.2f}, accuracy {i / 7:.2f}\n" for i, loss in enumerate(LOSSES)]
    ends = np.concatenate([[0], np.cumsum([len(line) for line in lines])[:-1]])
    told = {"losses": LOSSES, "printed": "".join(lines), "printed_before": ends}
    printing.assert_loss_printed(CASE, outcome(CASE, [told]))
