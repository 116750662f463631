"""What is sound in gradients that are not the mean: whose are in them, and are they all?"""

import numpy as np

from grader.api import Outcome, WrongAnswer, case_context, found

from .mistakes import known_mistake, wrong_divisor
from .shares import NEARLY_ALL, composition_of, num_epochs, sums_of
from .training_cases import Training
from .training_checks import assert_usable

A_CHUNK = 0.8
"""Of an n-th of the elements: chunks need not be of equal length."""
FACTOR_MARGIN = 0.005
"""Half precision rounds to a thousandth; a wrong divisor is off by a tenth at least."""


def assert_goes_all_the_way_round(case: Training, outcome: Outcome) -> None:
    """Assert that in the first epoch every rank's gradients come to every other rank.

    Raises WrongAnswer with a rank that lacks the gradients of another.
    """
    with case_context(case, outcome):
        assert_any_result(outcome)
        for rank in range(outcome.ranks):
            composition = composition_of(outcome, rank, epoch=0)
            for source in range(outcome.ranks):
                if not composition.reached_by(source):
                    text = f"Rank {rank}'s result contains none of rank {source}'s gradients."
                    helps = f"follow rank {source}'s gradients from message to message"
                    raise WrongAnswer(
                        known_mistake(outcome, rank, epoch=0)
                        or found("sum.rank_not_reached", text, help=helps, rank=rank, source=source)
                    )


def assert_adds_a_neighbour(case: Training, outcome: Outcome) -> None:
    """Assert that in the first epoch every rank has its own gradients and those of one neighbour.

    Those of all ranks are more than that. Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_any_result(outcome)
        n = outcome.ranks
        for rank in range(n):
            composition = composition_of(outcome, rank, epoch=0)
            reached = {(source - rank) % n for source in range(n) if composition.reached_by(source)}
            if reached not in ({0, 1}, {0, n - 1}):
                text = f"Rank {rank} did not end with its own gradients plus one neighbour's."
                raise WrongAnswer.of("ring.no_neighbour_added", text, rank=rank)


def assert_one_rank_complete(case: Training, outcome: Outcome) -> None:
    """Assert that one rank ends the first epoch with nearly all gradients of all ranks summed.

    They may be times any factor. Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_any_result(outcome)
        shares = [sums_of(outcome, rank, epoch=0).share for rank in range(outcome.ranks)]
        _assert_shares(outcome, 0, shares, on_every_rank=False)


def assert_nearly_all_in_every_epoch(case: Training, outcome: Outcome) -> None:
    """Assert that in every epoch nearly all gradients become the sum over all, times any factor.

    Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_usable(outcome)
        for epoch in range(case.epochs):
            shares = [sums_of(outcome, rank, epoch).share for rank in range(outcome.ranks)]
            _assert_shares(outcome, epoch, shares, on_every_rank=True)


def assert_all_but_one(case: Training, outcome: Outcome) -> None:
    """Assert that every rank ends the first epoch with nearly all gradients of all ranks but one.

    Raises WrongAnswer.
    """
    with case_context(case, outcome):
        assert_any_result(outcome)
        for rank in range(outcome.ranks):
            if missing_in(outcome, rank) is None:
                text = f"Rank {rank}'s result lacks the gradients of several ranks."
                raise WrongAnswer.of("sum.several_ranks_missing", text, rank=rank)


def missing_in(outcome: Outcome, rank: int) -> int | None:
    """Return the rank whose gradients alone a rank lacks after the first epoch; None if others."""
    lacking = range(outcome.ranks)
    shares = {each: sums_of(outcome, rank, 0, without=each).share for each in lacking}
    return next((each for each in lacking if shares[each] >= NEARLY_ALL), None)


def assert_divided(case: Training, outcome: Outcome) -> None:
    """Assert that what is summed completely has been divided by the number of ranks.

    Raises WrongAnswer with the factor that was found.
    """
    with case_context(case, outcome):
        assert_any_result(outcome)
        n = outcome.ranks
        sums = [sums_of(outcome, rank, epoch=0) for rank in range(n)]
        finished = {rank: each for rank, each in enumerate(sums) if each.share >= A_CHUNK / n}
        if not finished:
            text = "No rank ended with a chunk of gradients summed over all ranks."
            helps = "which ranks' gradients are in the first element of each chunk?"
            raise WrongAnswer.of("sum.nothing_complete", text, help=helps)
        for rank, each in finished.items():
            if abs(each.factor * n - 1) > FACTOR_MARGIN:
                raise WrongAnswer(wrong_divisor(rank, n, 1 / each.factor))
            if not each.is_even and (uneven := known_mistake(outcome, rank, epoch=0)):
                raise WrongAnswer(uneven)


def complete_ranks(outcome: Outcome) -> set[int]:
    """Return the ranks that end the first epoch with nearly all gradients of all ranks."""
    if not num_epochs(outcome):
        return set()
    shares = {rank: sums_of(outcome, rank, epoch=0).share for rank in range(outcome.ranks)}
    return {rank for rank, share in shares.items() if share >= NEARLY_ALL}


def givers_of(outcome: Outcome) -> set[int]:
    """Return the ranks whose gradients have come to another rank that has nearly all of them."""
    receivers = complete_ranks(outcome)
    return {rank for rank in range(outcome.ranks) if receivers - {rank}}


def _assert_shares(
    outcome: Outcome, epoch: int, shares: list[float], *, on_every_rank: bool
) -> None:
    rank = int(np.argmin(shares) if on_every_rank else np.argmax(shares))
    if shares[rank] < NEARLY_ALL:
        ends = f"rank {rank} ended with" if on_every_rank else "no rank ended with more than"
        text = f"In epoch {epoch + 1}, {ends} {int(100 * shares[rank])}% of the gradients summed "
        text += f"over all ranks; expected at least {NEARLY_ALL:.0%}."
        helps = "which ranks' gradients are in the remaining elements?"
        raise WrongAnswer(
            known_mistake(outcome, rank, epoch)
            or found("sum.incomplete", text, help=helps, rank=rank, epoch=epoch + 1)
        )


def assert_any_result(outcome: Outcome) -> None:
    """Raise what ranks said where they have nothing to show."""
    if not num_epochs(outcome):
        assert_usable(outcome)
        raise WrongAnswer.of("training.no_epoch", "No rank finished an epoch.")
