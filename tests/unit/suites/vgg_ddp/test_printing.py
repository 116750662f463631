"""A loss counts as printed in any words, of one iteration or of twenty."""

import numpy as np
import pytest
from vgg_ddp import printing
from vgg_ddp.train_cases import Printing

from grader.judge.findings import WrongAnswer

from .trainings import outcome

CASE = Printing("print_losses", file="part1/main.py", num_steps=21)
LOSSES = np.linspace(2.345678, 1.456789, 21)


@pytest.mark.parametrize(
    "text",
    [
        f"iteration 20: loss {LOSSES[20]:.4f}",
        f"[1, 20] loss={LOSSES[19]}",
        f"mean of the last 20: {np.mean(LOSSES[:20]):.3f}\naccuracy 0.1",
        f"Iteration 20 loss: {sum(LOSSES) / 20:.3f}",
        f"tensor({LOSSES[20]:.4f}, grad_fn=<NllLossBackward0>)",
        f"Loss:{LOSSES[19]:.2f}, next",
    ],
)
def test_a_loss_in_any_words_is_found(text):
    printing.assert_loss_printed(CASE, outcome(CASE, [{"losses": LOSSES, "printed": text}]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "done",
        f"iteration 0: loss {LOSSES[0]:.4f}",
        f"mean of all {np.mean(LOSSES) + 0.01:.4f}",
        f"version {LOSSES[20]:.1f}",
    ],
)
def test_a_text_without_it_is_not(text):
    with pytest.raises(WrongAnswer, match="printed every 20 iterations"):
        printing.assert_loss_printed(CASE, outcome(CASE, [{"losses": LOSSES, "printed": text}]))


def test_a_training_that_is_too_short_says_so():
    with pytest.raises(WrongAnswer, match="the training took only 3 steps"):
        printing.assert_loss_printed(CASE, outcome(CASE, [{"losses": LOSSES[:3], "printed": ""}]))
