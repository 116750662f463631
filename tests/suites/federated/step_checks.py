"""What is asked of the steps of data-parallel training, one question at a time."""

from collections.abc import Sequence

import numpy as np

from grader.api import WrongAnswer, found, ranks_text

from .differences import difference, fits
from .gradient_shares import division_slip, shares_used
from .step_mixtures import (
    comes_to_one_model,
    difference_of,
    holds_others,
    is_complete,
    known_steps,
    mixture_of,
    not_of_others,
)
from .steps import Steps, one_model

_ONE_START = (
    "does each rank call set_random_seed(42) before it creates Net(), or get its first model from "
    "another rank?"
)
_LOOPS = "which loops run over the epochs and the batches, and what ends them?"
_FOLLOW = (
    "does the server send its model after each step, and does each worker load it before the next "
    "batch?"
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
            text = f"Ranks {first} and {rank} started with different models."
            reason = found("start.ranks_differ", text, help=_ONE_START, rank=rank)
            raise WrongAnswer(reason, difference(other, start, ranks=(rank, first)))
    known = steps.of(0) if steps.has_server else []
    if known and known[0].number > 0 and known[0].num_steps == 1:
        text = "The workers did not compute their first gradients with the server's model."
        raise WrongAnswer.of("start.not_the_servers", text, help=_ONE_START)


def assert_reduced_in_time(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that no step comes before the gradients of other ranks are added; raises WrongAnswer.

    What is left in `.grad` after a step that used none of them came too late.
    """
    for rank in holders:
        left = steps.gradient_left(rank)
        for step in known_steps(steps, rank) if left and holds_others(left, rank, steps) else ():
            if step.made_of is not None and not holds_others(step.made_of, rank, steps):
                raise not_of_others(step, step.made_of, rank, steps)


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
            if is_complete(made, steps):
                continue
            if not holds_others(made, rank, steps):
                raise not_of_others(step, made, rank, steps)
            when, number = f"In step {step.number}, rank {rank}", step.number
            missing = set(steps.computing) - made.present
            told = f"{when} used more of one rank's gradient than of another's."
            reason = found("gradient.uneven", told, rank=rank, step=number)
            if missing:
                told = f"{when} used no gradient from {ranks_text(missing)}."
                reason = found(
                    "gradient.rank_missing", told, rank=rank, step=number, missing=missing
                )
            raise WrongAnswer(reason, shares_used(made), difference_of(step))


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
                reason = division_slip(step, made, rank, steps)
                raise WrongAnswer(reason, shares_used(made), difference_of(step))
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
                raise not_of_others(step, made, rank, steps)


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
            if names := made.misfits:
                used = f"In step {step.number}, rank {rank} used the reduced gradient"
                reason = found(
                    "gradient.parameters_not_reduced",
                    f"{used}, except for {', '.join(names)}.",
                    help="which parameters' gradients does the code reduce?",
                    rank=rank,
                    parameters=names,
                )
                raise WrongAnswer(reason, difference_of(step))
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
            first, step = steps.computing[0], number - 1
            text = f"After step {step}, ranks {first} and {other} had different models."
            helps = "all ranks must start with the same model and take the same steps"
            reason = found("model.ranks_differ", text, help=helps, rank=other, step=step)
            raise WrongAnswer(reason, difference(after[other], after[first], ranks=(other, first)))


def assert_workers_follow(steps: Steps) -> None:
    """Assert that the workers compute every gradient with the server's newest model.

    Raises WrongAnswer with the first step and worker where it is otherwise, and if there was only
    one step.
    """
    if steps.number == 1:
        text = "The workers computed only 1 gradient each, so none used a new model of the server."
        raise WrongAnswer.of("worker.only_one_step", text, help=_LOOPS)
    servers = steps.servers_models()
    for number in range(1, steps.number):
        seen = {rank: steps.trained.seen(rank, number) for rank in steps.computing}
        first = steps.computing[0]
        before = steps.trained.seen(first, number - 1)
        expected = servers[number] if servers is not None else seen[first]
        for rank, model in seen.items():
            when = f"In step {number}, rank {rank}"
            previous = steps.trained.seen(rank, number - 1)
            if np.array_equal(model, previous):
                old = f"its model from step {number - 1}"
                text = f"{when} still used {old}: the server's new model did not reach it."
                raise WrongAnswer.of("worker.old_model", text, help=_FOLLOW, rank=rank, step=number)
            if not fits(model, expected, servers[number - 1] if servers is not None else before):
                text = f"{when} did not use the server's new model."
                helps = "compare the model that the server sends with the one that the worker loads"
                reason = found("worker.other_model", text, help=helps, rank=rank, step=number)
                raise WrongAnswer(reason, difference(model, expected))


def assert_model_kept(steps: Steps, holders: Sequence[int]) -> None:
    """Assert that the holders' `model` is the network that was trained. Raises WrongAnswer."""
    for rank in holders:
        if steps.trained.has_diverged and not np.isfinite(steps.trained.model_found(rank)).all():
            continue  # what made it grow beyond all bounds is asked about elsewhere
        model = steps.trained.model(rank)
        start = steps.trained.seen(steps.computing[0], 0)
        if steps.has_other_model(rank) or np.array_equal(model, start):
            text = f"Rank {rank}'s global variable `model` is not the result of the last step."
            helps = "which network do the steps change, and which one is `model`?"
            raise WrongAnswer.of("model.not_trained", text, help=helps, rank=rank)


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
