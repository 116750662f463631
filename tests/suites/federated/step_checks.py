"""What is asked of the steps of data-parallel training, one question at a time."""

from collections.abc import Sequence

import numpy as np

from grader.api import WrongAnswer, ranks_text

from . import lenet
from .differences import difference_text, fits
from .explaining import Mixture, near
from .slices import BATCH_SIZE
from .steps import NO_MOMENTUM, NOT_CLEARED, SGD, Step, Steps, one_model

_SGD_CALL = (
    f"torch.optim.SGD(model.parameters(), lr={lenet.LEARNING_RATE}, momentum={lenet.MOMENTUM})"
)


def assert_one_start(steps: Steps) -> None:
    """Assert that all ranks compute their first gradient with one model; a server's, if any.

    Raises WrongAnswer with the first rank that has another one.
    """
    first, *others = steps.computing
    start = steps.trained.seen(first, 0)
    for rank in others:
        other = steps.trained.seen(rank, 0)
        if not np.array_equal(other, start):
            raise WrongAnswer(
                f"rank {rank} starts with another model than rank {first}: "
                f"{difference_text(other, start)}; call set_random_seed(42) on every rank before "
                "Net(), or send everybody one model"
            )
    known = steps.of(0) if steps.has_server else []
    if known and known[0].number > 0 and known[0].num_steps == 1:
        raise WrongAnswer(
            f"{ranks_text(steps.computing)} computed the first gradient with another model than "
            "the one the server started from: call set_random_seed(42) on every rank before Net(), "
            "or send everybody the server's model first"
        )


def assert_summed(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that what every holder makes of the gradients has as much of each rank's.

    It may be in its steps, or in its `.grad` after the last one. Raises WrongAnswer.
    """
    for rank in holders:
        left = steps.gradient_left(rank)
        if left is not None and _is_complete(left, steps):
            continue
        for step in _known(steps, rank):
            made = _made(step, rank)
            if not _is_complete(made, steps):
                missing = set(steps.computing) - made.present
                why = (
                    f"the gradient of {ranks_text(missing)} is not in it"
                    if missing
                    else "it should use as much of each rank's gradient"
                )
                raise WrongAnswer(f"{_used(step, rank, made)}: {why} ({_differs(step)})")


def assert_divided(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the gradients of N ranks count 1/N each, in what holds those of several.

    Raises WrongAnswer with what they count, and which division is missing or too much.
    """
    share = 1 / len(steps.computing)
    is_known = False
    for rank in holders:
        left = steps.gradient_left(rank)
        if left is not None and _holds_others(left, rank, steps):
            is_known = True
            if left.counts_each(share):
                continue
        for step in _known(steps, rank):
            made = _made(step, rank)
            if not _holds_others(made, rank, steps):
                continue
            is_known = True
            if not made.counts_each(share):
                raise WrongAnswer(
                    f"{_used(step, rank, made)}; it should use {share:.3g} x each. "
                    f"{_division_hint(made, steps)} ({_differs(step)})"
                )
    if not is_known:
        assert_steps_use_all(steps, holders)


def assert_steps_use_all(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that in every step of each holder another rank's gradient has a part.

    Steps of another optimizer are no sum of gradients; there, all holders have to come to one
    model, though their own gradients differ. Raises WrongAnswer.
    """
    for rank in holders:
        for step in _known(steps, rank):
            made = step.made_of
            if made is None and not _comes_to_one_model(steps, step):
                _made(step, rank)
            if made is not None and not _holds_others(made, rank, steps):
                raise WrongAnswer(
                    f"step {step.number}: rank {rank} steps with its own gradient alone, not with "
                    f"the one reduced over all ranks{_too_late(steps, rank)} ({_differs(step)})"
                )


def assert_every_parameter(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the gradients of all arrays of the model are reduced.

    Raises WrongAnswer with the names of those that are not.
    """
    is_known = False
    for rank in holders:
        left = steps.gradient_left(rank)
        is_left = left is not None and _holds_others(left, rank, steps)
        if left is not None and is_left and not left.misfits:
            is_known = True
            continue
        for step in _known(steps, rank):
            made = _made(step, rank)
            if left is not None and is_left and not _holds_others(made, rank, steps):
                made = left
            if not _holds_others(made, rank, steps):
                continue
            is_known = True
            if made.misfits:
                raise WrongAnswer(
                    f"step {step.number}: on rank {rank} only {', '.join(made.misfits)} went "
                    f"wrong: {_differs(step)}; reduce the gradient of every parameter"
                )
    if not is_known:
        assert_steps_use_all(steps, holders)


def assert_sgd(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that steps are those of SGD, each with the gradients of its own batch.

    Raises WrongAnswer with what they are instead.
    """
    for rank in holders:
        for step in _known(steps, rank):
            made = step.made_of
            when = f"step {step.number}, rank {rank}"
            left = steps.gradient_left(rank)
            if made is None and steps.is_adam(rank):
                raise WrongAnswer(f"{when}: these are Adam's steps, not SGD's: use {_SGD_CALL}")
            if made is None and left is not None and _is_complete(left, steps):
                raise WrongAnswer(
                    f"{when}: the gradient is right, but this is no step of SGD: {_differs(step)}; "
                    f"use {_SGD_CALL}"
                )
            made = _made(step, rank)
            if made.misfits and left is not None and not left.misfits:
                raise WrongAnswer(
                    f"{when}: only {', '.join(made.misfits)} went wrong: {_differs(step)}; give "
                    "the optimizer all parameters"
                )
            _assert_momentum(made, f"{when}: ", step)
        _assert_learning_rate(steps, rank)


def assert_one_model(steps: Steps) -> None:
    """Assert that after each step all ranks have one model.

    Raises WrongAnswer with the first step and rank where it is otherwise.
    """
    models = {rank: steps.models(rank) for rank in steps.computing}
    for number in range(1, min(map(len, models.values()))):
        after = {rank: own[number] for rank, own in models.items()}
        other = one_model(after, models[steps.computing[0]][number - 1])
        if other is not None:
            first = steps.computing[0]
            raise WrongAnswer(
                f"after step {number - 1}, rank {other} has another model than rank {first}: "
                f"{difference_text(after[other], after[first])}; all ranks start with one model "
                "and take the same steps"
            )


def assert_workers_follow(steps: Steps) -> None:
    """Assert that the workers compute every gradient with the server's newest model.

    Raises WrongAnswer with the first step and worker where it is otherwise.
    """
    servers = steps.servers_models()
    for number in range(1, steps.number):
        seen = {rank: steps.trained.seen(rank, number) for rank in steps.computing}
        first = steps.computing[0]
        before = steps.trained.seen(first, number - 1)
        expected = servers[number] if servers is not None else seen[first]
        for rank, found in seen.items():
            previous = steps.trained.seen(rank, number - 1)
            if np.array_equal(found, previous):
                raise WrongAnswer(
                    f"step {number}: rank {rank} computes with the model it had in step "
                    f"{number - 1}, so the server's new model did not reach it; receive it after "
                    "each step, and load it"
                )
            if not fits(found, expected, servers[number - 1] if servers is not None else before):
                raise WrongAnswer(
                    f"step {number}: rank {rank} does not compute with the server's new model: "
                    f"{difference_text(found, expected)}; send it after each step, and load it"
                )


def assert_model_kept(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the holders' `model` is the network that was trained. Raises WrongAnswer."""
    for rank in holders:
        model = steps.trained.model_found(rank)
        if not np.isfinite(model).all():
            continue  # what made it grow beyond all bounds is asked about elsewhere
        start = steps.trained.seen(steps.computing[0], 0)
        if steps.has_other_model(rank) or np.array_equal(model, start):
            raise WrongAnswer(
                f"rank {rank}: `model` is not the network after the last step; keep the one that "
                "is trained in the global variable `model`"
            )


def ranks_used_by_others(steps: Steps, holders: Sequence[int]) -> frozenset[int]:
    """Return the ranks whose gradients are in what another rank makes of them.

    All of them where no step is a sum of gradients, and yet all come to one model.
    """
    used: set[int] = set()
    for rank in holders:
        left = steps.gradient_left(rank)
        known = steps.of(rank)
        for made in (left, *(step.made_of for step in known)):
            used |= (made.present - {rank}) if made is not None else set()
        lost = [step for step in known if step.made_of is None]
        if any(_comes_to_one_model(steps, step) for step in lost):
            used |= set(steps.computing)
    return frozenset(used)


def _known(steps: Steps, rank: int) -> Sequence[Step]:
    """Return the known steps of a rank's model; raises WrongAnswer where there is none."""
    known = steps.of(rank)
    if not known:
        steps.trained.model(rank)
        raise WrongAnswer(f"rank {rank}: no step of its model can be seen")
    return known


def _made(step: Step, rank: int) -> Mixture:
    """Return of which gradients a step was made; raises WrongAnswer where it is of none."""
    if step.made_of is None:
        raise WrongAnswer(
            f"after step {step.number}, rank {rank}'s model differs from serial training: "
            f"{_differs(step)}"
        )
    return step.made_of


def _differs(step: Step) -> str:
    return difference_text(step.after, step.expected)


def _is_complete(made: Mixture, steps: Steps) -> bool:
    return made.present == set(steps.computing) and made.is_even


def _holds_others(made: Mixture, rank: int, steps: Steps) -> bool:
    """Return whether another rank's gradient is in it; of one process, its own."""
    return bool(made.present - {rank} if len(steps.computing) > 1 else made.present)


def _comes_to_one_model(steps: Steps, step: Step) -> bool:
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


def _too_late(steps: Steps, rank: int) -> str:
    left = steps.gradient_left(rank)
    is_late = left is not None and _holds_others(left, rank, steps)
    return ": reduce before optimizer.step(), not after it" if is_late else ""


def _used(step: Step, rank: int, made: Mixture) -> str:
    told = [f"{share:.3g} x rank {each}'s" for each, share in made.shares.items()]
    what = f"{' + '.join(told)} mean gradient"
    return f"step {step.number}: the step of rank {rank} uses {what}"


def _division_hint(made: Mixture, steps: Steps) -> str:
    """Return which slip lets gradients count so much."""
    num_ranks = len(steps.computing)
    size = steps.trained.outcome.ranks
    noun = "workers" if steps.has_server else "ranks"
    hints = {
        1.0: f"They are summed and not divided: divide by the number of {noun}, or multiply by "
        "each one's number of examples and divide by the total number",
        BATCH_SIZE / num_ranks: "They are multiplied by each rank's number of examples: divide "
        f"their sum by the total number of examples, {BATCH_SIZE}",
        1 / BATCH_SIZE: "They are divided by the number of all examples: first multiply each by "
        "its rank's number of examples",
        1 / num_ranks**2: f"They are divided by the number of {noun} twice",
        1 / size: "They are divided by the number of processes, of which one is the server: divide "
        "by the number of workers",
    }
    shares = [made.shares[rank] for rank in made.present]
    for share, words in hints.items():
        if all(abs(each / share - 1) < 0.03 for each in shares):
            return words
    return f"Divide the sum so that each of the {num_ranks} {noun} counts 1/{num_ranks}"


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
                    f"({_differs(step)})"
                )
            raise WrongAnswer(
                f"{when}this step still contains the last one's gradient: call zero_grad() first "
                f"({_differs(step)})"
            )
    raise WrongAnswer(
        f"{when}the step has {others[0]:.3g} x the one before it in it; a momentum of "
        f"{lenet.MOMENTUM} takes {lenet.MOMENTUM} x: use {_SGD_CALL} ({_differs(step)})"
    )


def _assert_learning_rate(steps: Steps, rank: int) -> None:
    """Compare what the last step took with what was left as the gradient it took it of."""
    left, last = steps.gradient_left(rank), steps.of(rank)[-1]
    made = last.made_of
    if left is None or made is None or last.number + 1 != steps.number:
        return
    if not (_is_complete(left, steps) and _is_complete(made, steps)):
        return
    first = steps.computing[0]
    ratio = made.shares[first] / left.shares[first]
    if abs(ratio - 1) > 0.03:
        raise WrongAnswer(
            f"step {last.number}, rank {rank}: the gradient is right, but the step has a learning "
            f"rate of {ratio * lenet.LEARNING_RATE:.3g}: use {_SGD_CALL}"
        )
