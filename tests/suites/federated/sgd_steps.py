"""Whether steps are those of SGD, with its momentum and its learning rate."""

from collections.abc import Sequence

from grader.api import WrongAnswer

from . import lenet
from .explaining import Mixture, near
from .step_mixtures import differs_text, is_complete, known_steps, mixture_of
from .steps import NO_MOMENTUM, NOT_CLEARED, SGD, Step, Steps

_SGD_CALL = (
    f"torch.optim.SGD(model.parameters(), lr={lenet.LEARNING_RATE}, momentum={lenet.MOMENTUM})"
)


def assert_sgd(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that steps are those of SGD, each with the gradients of its own batch.

    Raises WrongAnswer with what they are instead.
    """
    for rank in holders:
        for step in known_steps(steps, rank):
            made = step.made_of
            when = f"step {step.number}, rank {rank}"
            left = steps.gradient_left(rank)
            if made is None and steps.is_adam(rank):
                raise WrongAnswer(f"{when}: these are Adam's steps, not SGD's: use {_SGD_CALL}")
            if made is None and left is not None and is_complete(left, steps):
                raise WrongAnswer(
                    f"{when}: the gradient is right, but this is no step of SGD: "
                    f"{differs_text(step)}; use {_SGD_CALL}"
                )
            made = mixture_of(step, rank)
            if made.misfits and left is not None and not left.misfits:
                raise WrongAnswer(
                    f"{when}: only {', '.join(made.misfits)} went wrong: {differs_text(step)}; "
                    "give the optimizer all parameters"
                )
            _assert_momentum(made, f"{when}: ", step)
        _assert_learning_rate(steps, rank)


def _assert_momentum(made: Mixture, when: str, step: Step) -> None:
    others = made.others
    if not others or all(near(found, right) for found, right in zip(others, SGD, strict=False)):
        return
    kinds = {NO_MOMENTUM: "no momentum", NOT_CLEARED: "not cleared", (1.0, 0.0): "not cleared"}
    for kind, name in kinds.items():
        if all(near(found, of_kind) for found, of_kind in zip(others, kind, strict=False)):
            if name == "no momentum":
                raise WrongAnswer(
                    f"{when}the step has no momentum of {lenet.MOMENTUM}: use {_SGD_CALL} "
                    f"({differs_text(step)})"
                )
            raise WrongAnswer(
                f"{when}this step still contains the last one's gradient: call zero_grad() first "
                f"({differs_text(step)})"
            )
    raise WrongAnswer(
        f"{when}the step has {others[0]:.3g} x the one before it in it; a momentum of "
        f"{lenet.MOMENTUM} takes {lenet.MOMENTUM} x: use {_SGD_CALL} ({differs_text(step)})"
    )


def _assert_learning_rate(steps: Steps, rank: int) -> None:
    """Compare what the last step took with what was left as the gradient it took it of."""
    left, last = steps.gradient_left(rank), steps.of(rank)[-1]
    made = last.made_of
    if left is None or made is None or last.number + 1 != steps.number:
        return
    if not (is_complete(left, steps) and is_complete(made, steps)):
        return
    first = steps.computing[0]
    ratio = made.shares[first] / left.shares[first]
    if abs(ratio - 1) > 0.03:
        raise WrongAnswer(
            f"step {last.number}, rank {rank}: the gradient is right, but the step has a learning "
            f"rate of {ratio * lenet.LEARNING_RATE:.3g}: use {_SGD_CALL}"
        )
