"""Of which ranks' gradients a step was made, as far as that can be told."""

from collections.abc import Sequence

import numpy as np

from grader.api import WrongAnswer

from .differences import difference_text
from .explaining import Mixture
from .steps import Step, Steps, one_model


def known_steps(steps: Steps, rank: int) -> Sequence[Step]:
    """Return the known steps of a rank's model; raises WrongAnswer where there is none."""
    known = steps.of(rank)
    if not known:
        steps.trained.model(rank)
        raise WrongAnswer(f"rank {rank}: no step of its model can be seen")
    return known


def mixture_of(step: Step, rank: int) -> Mixture:
    """Return of which gradients a step was made; raises WrongAnswer where it is of none."""
    if step.made_of is None:
        raise WrongAnswer(
            f"after step {step.number}, rank {rank}'s model differs from serial training: "
            f"{differs_text(step)}"
        )
    return step.made_of


def differs_text(step: Step) -> str:
    return difference_text(step.after, step.expected)


def is_complete(made: Mixture, steps: Steps) -> bool:
    return made.present == set(steps.computing) and made.is_even


def holds_others(made: Mixture, rank: int, steps: Steps) -> bool:
    """Return whether another rank's gradient is in it; of one process, its own."""
    return bool(made.present - {rank} if len(steps.computing) > 1 else made.present)


def comes_to_one_model(steps: Steps, step: Step) -> bool:
    """Return whether all ranks go on with one new model, though their own gradients differ.

    A server that computes gradients itself may have made it alone.
    """
    own = list(steps.gradients(step.number).values())
    models = {rank: steps.models(rank) for rank in steps.computing}
    if steps.has_server and steps.trained.batches(0):
        return False
    if any(np.array_equal(own[0], each) for each in own[1:]):
        return False
    if any(len(each) <= step.number + 1 for each in models.values()):
        return False
    after = {rank: each[step.number + 1] for rank, each in models.items()}
    return one_model(after, step.before) is None and not np.array_equal(step.after, step.before)
