"""Whose gradients are in the first step of a synchronous training, and how often.

All ranks begin with the same weights, each with a batch of its own that no other rank can know. So
what an array changed by is a sum of the ranks' gradients in one way only: the factors of that sum,
found by least squares, tell what was added up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.api import (
    Finding,
    Outcome,
    WrongAnswer,
    call_name,
    call_place,
    found,
    listed,
    ranks_text,
)

from . import serial
from .fit_cases import Fit, examples, trained_batches
from .reasons_first import call_text

_RTOL = 1e-6
"""Of a factor, and of what the factors leave unexplained: least squares lose some digits."""


@dataclass(frozen=True)
class Contributions:
    """What one array of one rank changed by."""

    factors: tuple[float, ...]
    """By contributing rank: 1 where its gradient was subtracted once, times the learning rate."""
    is_explained: bool
    """The change is nothing but this sum."""

    def are(self, factor: float) -> bool:
        """Return whether the change is this many times the sum over all ranks."""
        return self.is_explained and bool(np.allclose(self.factors, factor, rtol=0, atol=_RTOL))

    @property
    def are_equal(self) -> bool:
        """Return whether the gradients of all ranks are in it, in equal parts."""
        return self.are_complete and self.are(self.factors[0])

    @property
    def are_complete(self) -> bool:
        """Return whether the gradients of all ranks are in it, in any proportion."""
        return self.is_explained and min(map(abs, self.factors)) > _RTOL

    def resembles(self, other: "Contributions") -> bool:
        """Return whether two changes are the same sum."""
        same = np.allclose(self.factors, other.factors, rtol=0, atol=_RTOL)
        return self.is_explained and bool(same)


def assert_gradients_come_together(case: Fit, outcome: Outcome) -> None:
    """Assert that one array of one rank at least changed by all ranks' gradients.

    Raises WrongAnswer: says what the first array of rank 0 changed by instead.
    """
    changes = _changes(case, outcome)
    if not any(each.are_complete for arrays in changes for each in arrays.values()):
        told = _told(case, outcome, changes, 0, next(iter(case.shapes)))
        text = "No rank's first step used the gradients of all ranks."
        raise WrongAnswer(*told, found("step.gradients_not_combined", text))


def assert_weights_come_together(case: Fit, outcome: Outcome, share: float) -> None:
    """Assert that this share of weight arrays, on every rank, changed by all ranks' gradients.

    Raises WrongAnswer.
    """
    for rank, arrays in enumerate(_changes(case, outcome)):
        weights = [each for name, each in arrays.items() if name.startswith("weights")]
        number = sum(each.are_complete for each in weights)
        if number < share * len(weights):
            text = f"Rank {rank}'s first step used the gradients of all ranks in {number} of "
            text += f"{len(weights)} weight arrays."
            raise WrongAnswer.of("step.few_weights_combined", text, rank=rank, number=number)


def assert_every_rank_has_all_gradients(case: Fit, outcome: Outcome) -> None:
    """Assert that every array of every rank changed by all ranks' gradients.

    Raises WrongAnswer: says what the first array that did not changed by instead.
    """
    changes = _changes(case, outcome)
    for rank, arrays in enumerate(changes):
        for name, contributions in arrays.items():
            if not contributions.are_complete:
                raise WrongAnswer(*_told(case, outcome, changes, rank, name))


def same_contributions_as(case: Fit, outcome: Outcome) -> Callable[[Fit, Outcome], None]:
    """Return the check that a first step on other numbers adds up the same gradients as this one.

    It raises WrongAnswer where not.
    """
    ordinary = _changes(case, outcome)

    def check(case: Fit, outcome: Outcome) -> None:
        for rank, arrays in enumerate(ordinary):
            now = _contributions(case, outcome, rank)
            for name, before in arrays.items():
                if before.is_explained and not now[name].resembles(before):
                    text = (
                        f"In a second run, the first step of rank {rank}'s {name} used different "
                        "gradients."
                    )
                    raise WrongAnswer.of("step.not_as_before", text, rank=rank, name=name)

    return check


def combined_num_bytes(case: Fit, outcome: Outcome) -> int:
    """Return the size of the arrays that a rank changed by the gradients of all ranks."""
    changes = _changes(case, outcome)
    combined = {name for arrays in changes for name, each in arrays.items() if each.are_complete}
    return sum(outcome[name][0].nbytes for name in combined)


def mistakes_in_first_step(case: Fit, outcome: Outcome, rank: int, name: str) -> list[Finding]:
    """Return what is wrong with the step of an array, the cause first."""
    changes = _changes(case, outcome)
    return [] if changes[rank][name].are(1) else _told(case, outcome, changes, rank, name)


def _changes(case: Fit, outcome: Outcome) -> list[dict[str, Contributions]]:
    return [_contributions(case, outcome, rank) for rank in range(outcome.ranks)]


def _contributions(case: Fit, outcome: Outcome, rank: int) -> dict[str, Contributions]:
    start = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
    gradients = [first_gradient(case, outcome, other) for other in range(outcome.ranks)]
    return {
        name: _explained(
            (start[name] - outcome[name][rank]) / case.learning_rate,
            [gradient[name] for gradient in gradients],
        )
        for name in case.shapes
    }


def first_gradient(case: Fit, outcome: Outcome, rank: int) -> dict[str, serial.Vector]:
    """Return the gradients of the first batch that a rank trained on; zeros where it has none."""
    start = outcome.inputs[0]["start"]
    batches = trained_batches(case, outcome, rank)[:1]
    steps = [serial.gradient(start, case.sizes, *examples(outcome, rank, rows)) for rows in batches]
    return serial.unpacked(np.sum([np.zeros_like(start), *steps], axis=0), case.sizes)


def _explained(change: serial.Vector, gradients: Sequence[serial.Vector]) -> Contributions:
    if not np.isfinite(change).all():
        return Contributions((0.0,) * len(gradients), is_explained=False)
    columns = np.stack([gradient.ravel() for gradient in gradients], axis=1)
    factors = np.linalg.lstsq(columns, change.ravel(), rcond=None)[0]
    left_over = np.abs(columns @ factors - change.ravel()).max()
    scale = max(np.abs(columns).max(), np.abs(change).max())
    return Contributions(tuple(map(float, factors)), bool(left_over <= _RTOL * scale))


def _told(
    case: Fit,
    outcome: Outcome,
    changes: Sequence[Mapping[str, Contributions]],
    rank: int,
    name: str,
) -> list[Finding]:
    """Return what the step of an array was instead of the sum, the cause first."""
    contributions, n = changes[rank][name], outcome.ranks
    place = f"In the first step, rank {rank}'s {name}"
    step = f"The first step of rank {rank}'s {name}"
    facts: dict[str, Any] = {"rank": rank, "name": name}
    own = tuple(float(other == rank) for other in range(n))
    if contributions.is_explained and not contributions.are(0):
        if np.allclose(contributions.factors, own, rtol=0, atol=_RTOL):
            text = f"{step} used only the rank's own gradients."
            helps = "the sum over all ranks is required: where does the step use it?"
            return [found("step.own_gradients_only", text, help=helps, **facts)]
        if contributions.are(1 / n):
            text = f"{step} used the mean of all ranks' gradients."
            helps = "the sum is required: do not divide by the number of ranks"
            return [found("step.mean", text, help=helps, **facts)]
        if contributions.are(n):
            text = f"{step} used {n} times the sum of all ranks' gradients."
            helps = "does your code sum the gradients twice?"
            return [found("step.summed_twice", text, help=helps, **facts)]
        if contributions.are(-1):
            text = f"{place} changed in the wrong direction."
            helps = "check the sign: a step subtracts learning_rate times the sum"
            return [found("step.wrong_direction", text, help=helps, **facts)]
        if contributions.are_equal:
            factor = f"{contributions.factors[0]:.6g}"
            text = f"{step} used {factor} times the sum of all ranks' gradients."
            return [found("step.multiple_of_sum", text, factor=float(factor), **facts)]
    if not np.isfinite(outcome[name][rank]).all():
        wrong = found("step.not_finite", f"{place} became infinite or NaN.", **facts)
    elif not contributions.is_explained:
        wrong = _other_change(case, outcome, rank, name)
    elif contributions.are(0):
        wrong = found("step.no_change", f"{place} did not change.", **facts)
    else:
        text = (
            f"{step} used {_listed(contributions.factors)}. It must use each rank's gradients once."
        )
        wrong = found("step.other_sum", text, **facts)
    reduced = _reduced_to_one(outcome) if rank > 0 and changes[0][name].are_equal else None
    return [reduced, wrong] if reduced else [wrong]


def _listed(factors: Sequence[float]) -> str:
    """Return `the gradients of rank 0 twice and of rank 1 not at all`; ranks alike together."""
    by_factor: dict[str, list[int]] = {}
    words = {0: "not at all", 1: "once", 2: "twice"}
    for rank, factor in enumerate(factors):
        nearest = round(factor)
        is_whole = abs(factor - nearest) <= _RTOL
        times = words.get(nearest, f"{nearest} times") if is_whole else f"{factor:.6g} times"
        by_factor.setdefault(times, []).append(rank)
    items = [f"of {ranks_text(ranks)} {times}" for times, ranks in by_factor.items()]
    return f"the gradients {listed(items)}"


def _other_change(case: Fit, outcome: Outcome, rank: int, name: str) -> Finding:
    """Return what else than a sum of its own gradients an array changed by."""
    step = f"The first step of rank {rank}'s {name} used"
    start = serial.unpacked(outcome.inputs[0]["start"], case.sizes)
    change = (start[name] - outcome[name][rank]) / case.learning_rate
    biases = name.replace("weights", "biases")
    if change.ndim == 2 and np.allclose(change, change[0], rtol=0, atol=_RTOL):
        gradients = [first_gradient(case, outcome, other)[biases] for other in range(outcome.ranks)]
        if _explained(change[0], gradients).is_explained:
            text = f"{step} the gradients of {biases} in every row."
            helps = "back_prop returns the biases' gradients first, then the weights'"
            return found("step.biases_for_weights", text, help=helps, rank=rank, name=name)
    text = f"{step} something other than a sum of the ranks' gradients."
    return found("step.no_sum_of_gradients", text, rank=rank, name=name)


def _reduced_to_one(outcome: Outcome) -> Finding | None:
    """Return that the ranks reduce to one of them, where nothing is handed out after it."""
    made = [call for seen in outcome.trace.ranks for call in seen.calls]
    reduced = [call for call in made if call.function in ("Reduce", "Ireduce")]
    handed_out = any(
        call.function.removeprefix("I").lower() in ("bcast", "scatter", "scatterv", "allgather")
        for call in made
    )
    if not reduced or handed_out:
        return None
    first = reduced[0]
    return found(
        "step.reduced_to_one_rank",
        f"{call_text(first)} delivers the sum to rank {first.peer} only; every other "
        "rank's arrays stay unchanged.",
        help="which collective delivers the sum to every rank?",
        call=call_name(first),
        root=first.peer,
        place=call_place(first),
    )
