"""What is asked of the steps of data-parallel training, one question at a time."""

from collections.abc import Sequence

import numpy as np

from grader.api import WrongAnswer, ranks_text

from .differences import difference_text, fits
from .explaining import Mixture
from .slices import BATCH_SIZE
from .step_mixtures import (
    comes_to_one_model,
    differs_text,
    holds_others,
    is_complete,
    known_steps,
    mixture_of,
)
from .steps import Step, Steps, one_model


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
        if left is not None and is_complete(left, steps):
            continue
        for step in known_steps(steps, rank):
            made = mixture_of(step, rank)
            if not is_complete(made, steps):
                missing = set(steps.computing) - made.present
                why = (
                    f"the gradient of {ranks_text(missing)} is not in it"
                    if missing
                    else "it should use as much of each rank's gradient"
                )
                raise WrongAnswer(f"{_used(step, rank, made)}: {why} ({differs_text(step)})")


def assert_divided(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the gradients of N ranks count 1/N each, in what holds those of several.

    Raises WrongAnswer with what they count, and which division is missing or too much.
    """
    share = 1 / len(steps.computing)
    is_known = False
    for rank in holders:
        left = steps.gradient_left(rank)
        if left is not None and holds_others(left, rank, steps):
            is_known = True
            if left.counts_each(share):
                continue
        for step in known_steps(steps, rank):
            made = mixture_of(step, rank)
            if not holds_others(made, rank, steps):
                continue
            is_known = True
            if not made.counts_each(share):
                raise WrongAnswer(
                    f"{_used(step, rank, made)}; it should use {share:.3g} x each. "
                    f"{_division_hint(made, steps)} ({differs_text(step)})"
                )
    if not is_known:
        assert_steps_use_all(steps, holders)


def assert_steps_use_all(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that in every step of each holder another rank's gradient has a part.

    Steps of another optimizer are no sum of gradients; there, all holders have to come to one
    model, though their own gradients differ. Raises WrongAnswer.
    """
    for rank in holders:
        for step in known_steps(steps, rank):
            made = step.made_of
            if made is None and not comes_to_one_model(steps, step):
                mixture_of(step, rank)
            if made is not None and not holds_others(made, rank, steps):
                raise WrongAnswer(
                    f"step {step.number}: rank {rank} steps with its own gradient alone, not with "
                    f"the one reduced over all ranks{_too_late(steps, rank)} ({differs_text(step)})"
                )


def assert_every_parameter(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the gradients of all arrays of the model are reduced.

    Raises WrongAnswer with the names of those that are not.
    """
    is_known = False
    for rank in holders:
        left = steps.gradient_left(rank)
        is_left = left is not None and holds_others(left, rank, steps)
        if left is not None and is_left and not left.misfits:
            is_known = True
            continue
        for step in known_steps(steps, rank):
            made = mixture_of(step, rank)
            if left is not None and is_left and not holds_others(made, rank, steps):
                made = left
            if not holds_others(made, rank, steps):
                continue
            is_known = True
            if made.misfits:
                raise WrongAnswer(
                    f"step {step.number}: on rank {rank} only {', '.join(made.misfits)} went "
                    f"wrong: {differs_text(step)}; reduce the gradient of every parameter"
                )
    if not is_known:
        assert_steps_use_all(steps, holders)


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
        if steps.trained.has_diverged and not np.isfinite(steps.trained.model_found(rank)).all():
            continue  # what made it grow beyond all bounds is asked about elsewhere
        model = steps.trained.model(rank)
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
        if any(comes_to_one_model(steps, step) for step in lost):
            used |= set(steps.computing)
    return frozenset(used)


def _too_late(steps: Steps, rank: int) -> str:
    left = steps.gradient_left(rank)
    is_late = left is not None and holds_others(left, rank, steps)
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
