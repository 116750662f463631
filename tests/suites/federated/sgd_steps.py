"""Whether steps are those of SGD, with its momentum and its learning rate."""

from collections.abc import Sequence

from grader.api import WrongAnswer, found

from . import lenet
from .explaining import Mixture, near
from .step_mixtures import difference_of, is_complete, known_steps, mixture_of
from .steps import NO_MOMENTUM, NOT_CLEARED, SGD, Step, Steps

_SGD_CALL = (
    f"torch.optim.SGD(model.parameters(), lr={lenet.LEARNING_RATE}, momentum={lenet.MOMENTUM})"
)
_ASKED = f"compare your optimizer with {_SGD_CALL}"
_CLEAR = "where are the gradients set to zero?"


def assert_sgd(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that steps are those of SGD, each with the gradients of its own batch.

    Raises WrongAnswer with what they are instead.
    """
    for rank in holders:
        for step in known_steps(steps, rank):
            made = step.made_of
            when = f"In step {step.number}, rank {rank}"
            left = steps.gradient_left(rank)
            if made is None and steps.is_adam(rank):
                told = f"{when} used Adam, not SGD."
                raise WrongAnswer.of("sgd.is_adam", told, help=_ASKED, rank=rank)
            if made is None and left is not None and is_complete(left, steps):
                told = f"{when} had the correct gradient, but did not use SGD."
                reason = found("sgd.other_optimizer", told, help=_ASKED, rank=rank)
                raise WrongAnswer(reason, difference_of(step))
            made = mixture_of(step, rank)
            if (names := made.misfits) and left is not None and not left.misfits:
                reason = found(
                    "sgd.parameters_not_in_optimizer",
                    f"{when} had the correct gradients, but took a wrong step for "
                    f"{', '.join(names)}.",
                    help="which parameters does the optimizer get, and with which settings?",
                    rank=rank,
                    parameters=names,
                )
                raise WrongAnswer(reason, difference_of(step))
            _assert_momentum(made, rank, step)
        _assert_learning_rate(steps, rank)


def assert_cleared(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that no step uses the gradient of the one before once more; raises WrongAnswer."""
    for rank in holders:
        for step in known_steps(steps, rank):
            if step.made_of is not None and _is_not_cleared(step.made_of):
                raise _not_cleared(rank, step)


def _is_not_cleared(made: Mixture) -> bool:
    kinds = (NOT_CLEARED, (1.0, 0.0))
    return bool(made.others) and any(_are(made.others, kind) for kind in kinds)


def _are(others: Sequence[float], kind: Sequence[float]) -> bool:
    return all(near(other, of_kind) for other, of_kind in zip(others, kind, strict=False))


def _not_cleared(rank: int, step: Step) -> WrongAnswer:
    told = f"In step {step.number}, rank {rank} used the previous step's gradient again."
    reason = found("sgd.gradient_not_cleared", told, help=_CLEAR, rank=rank)
    return WrongAnswer(reason, difference_of(step))


def _assert_momentum(made: Mixture, rank: int, step: Step) -> None:
    others, when = made.others, f"In step {step.number}, rank {rank}"
    if not others or _are(others, SGD):
        return
    if _is_not_cleared(made):
        raise _not_cleared(rank, step)
    if _are(others, NO_MOMENTUM):
        told = f"{when} used no momentum; {lenet.MOMENTUM} is required."
        reason = found("sgd.no_momentum", told, help=_ASKED, rank=rank)
    else:
        momentum = f"{others[0]:.3g}"
        told = (
            f"{when} added {momentum} times the previous step; momentum {lenet.MOMENTUM} "
            f"requires {lenet.MOMENTUM} times that step."
        )
        reason = found("sgd.other_momentum", told, help=_ASKED, rank=rank, momentum=float(momentum))
    raise WrongAnswer(reason, difference_of(step))


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
        rate, factor = f"{ratio * lenet.LEARNING_RATE:.3g}", f"{ratio:.3g}"
        had = f"In step {last.number}, rank {rank} had the correct gradient"
        text = f"{had}, but its step used learning rate {rate}."
        facts = {"rank": rank, "learning_rate": float(rate), "factor": float(factor)}
        raise WrongAnswer.of("sgd.other_learning_rate", text, help=_ASKED, **facts)
