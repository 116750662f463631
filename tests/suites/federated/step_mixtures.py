"""Of which ranks' gradients a step was made, as far as that can be told."""

from collections.abc import Sequence

import numpy as np

from grader.api import Finding, WrongAnswer, found

from .differences import difference
from .explaining import Mixture
from .steps import Step, Steps, one_model


def known_steps(steps: Steps, rank: int) -> Sequence[Step]:
    """Return the known steps of a rank's model; raises WrongAnswer where there is none."""
    known = steps.of(rank)
    if not known:
        steps.trained.model(rank)
        text = f"No training step of rank {rank}'s model was found in this run."
        raise WrongAnswer.of("step.none_seen", text, rank=rank)
    return known


def mixture_of(step: Step, rank: int) -> Mixture:
    """Return of which gradients a step was made; raises WrongAnswer where it is of none."""
    if step.made_of is None:
        text = (
            f"After step {step.number}, rank {rank}'s model differs from the centralized "
            "model. No sum of the ranks' gradients explains the difference."
        )
        helps = "does each parameter get its own gradient, and no other?"
        reason = found("step.of_no_gradients", text, help=helps, rank=rank, step=step.number)
        raise WrongAnswer(reason, difference_of(step))
    return step.made_of


def difference_of(step: Step) -> Finding:
    """Return how the model after a step differs from that of serial training."""
    return difference(step.after, step.expected)


def not_of_others(step: Step, made: Mixture, rank: int, steps: Steps) -> WrongAnswer:
    """Return the failure of a step that does not use the gradient of any other rank."""
    left = steps.gradient_left(rank)
    used = "only its own gradient" if rank in made.present else "no rank's gradient"
    text = f"In step {step.number}, rank {rank} used {used}"
    facts = {"rank": rank, "step": step.number}
    if left is not None and holds_others(left, rank, steps):
        text += "; the gradients were reduced after the step."
        helps = "which must come first, optimizer.step() or the reduction?"
        reason = found("step.before_reduction", text, help=helps, **facts)
    elif rank in made.present:
        text += ", not the one reduced over all ranks."
        helps = "which ranks get the result of the reduction, and where is it written?"
        reason = found("step.of_own_gradient", text, help=helps, **facts)
    else:
        helps = "does optimizer.step() come after the reduction and update the trained network?"
        reason = found("step.without_gradient", f"{text}.", help=helps, **facts)
    return WrongAnswer(reason, difference_of(step))


def is_complete(made: Mixture, steps: Steps) -> bool:
    """Return whether the gradients of all ranks are in it, in equal parts."""
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
