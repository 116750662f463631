"""A network trained on the digits as main.py does: nothing writes down what it is trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Outcome, Text, WrongAnswer, case_context

_MOST_EPOCHS = 2
_MOST_LEFT = 0.97
"""Which part of the loss may be left: after one epoch on five ranks it is 0.93 at most."""
_SAME = 1e-4


@dataclass(frozen=True, kw_only=True)
class Digits(Case):
    """One call of psgd or hogwild on a network of its own."""

    probe: str = "train_on_digits"
    subject: str = "digits"
    function: str
    num_processes: int = 0
    """Of hogwild; psgd has ranks."""

    @property
    def label(self) -> str:
        """Return what is trained."""
        return f"a network on the digits, up to {_MOST_EPOCHS} epochs"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the same for every rank."""
        epochs, seed = random.integers([1, 0], [_MOST_EPOCHS + 1, 1 << 16]).tolist()
        given = {"function": self.function, "num_processes": self.num_processes}
        return [{**given, "epochs": epochs, "seed": seed}] * ranks

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the loss before and after, and of what was learned."""
        return {"losses": Array("float64", (2,)), "weights": Array("float32", (None,))}


def assert_network_learns(case: Digits, outcome: Outcome) -> None:
    """Assert that the loss falls, and that all ranks have the same weights. Raises WrongAnswer."""
    with case_context(case, outcome):
        weights = outcome["weights"]
        for rank, (before, after) in enumerate(outcome["losses"]):
            facts: dict[str, Any] = {"rank": rank, "before": before, "after": after}
            if not after <= _MOST_LEFT * before:
                text = f"The loss of a network went from {before:.3f} to {after:.3f}; expected at "
                text += f"most {_MOST_LEFT * before:.3f}."
                helps = f"{case.function} must train any model, not only the small ones"
                raise WrongAnswer.of(
                    "training.network_learns_too_little", text, help=helps, **facts
                )
            is_same = weights[rank].shape == weights[0].shape
            if not is_same or not np.allclose(weights[rank], weights[0], rtol=_SAME, atol=_SAME):
                text = f"Rank {rank} ended with another network than rank 0."
                raise WrongAnswer.of("training.networks_differ", text, **facts)
