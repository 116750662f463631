"""Whether sums come from what is sent: it is altered on its way, and do the sums change?"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    FaultEffect,
    MessageFault,
    NotProven,
    Outcome,
    assert_answers_follow,
    assert_contributions_sent,
    case_context,
    counted,
    every_payload_fault,
    holds,
    inject_faults,
)

from .over_ranks import Run
from .serial import NUM_PARAMETERS
from .shares import is_plausible, num_epochs
from .sum_checks import assert_any_result, givers_of
from .training_cases import Training
from .training_checks import assert_trained_as_one


def assert_sums_come_from_payloads(run: Run, answers: Iterable[tuple[Training, Outcome]]) -> None:
    """Assert that sums change once what gloo sends of a rank is altered, for each giving rank.

    Those are ranks whose gradients have come to another; where none has all of them, every rank.
    Sums need not be right, nor the same again: elements that are implausible without alterations
    are not looked at. What is sent has to be gradients or sums of these, by samples. Where messages
    are still under way after the call, they are not altered, and nothing is asked; nor where code
    that trains wrongly keeps what was altered, as in a buffer that is never cleared. Raises
    NotProven, also where a call itself computes gradients, and RunFailed where a run ends without
    alterations.
    """
    for case, outcome in answers:
        if case.buffered_sends:
            continue
        with case_context(case, outcome):
            _assert_computes_no_gradient(outcome)
            faults = every_payload_fault(outcome, givers_of(outcome) or range(outcome.ranks))
            effects = _effects(run, case, outcome, faults)
            if effects or not faults:
                assert_answers_follow(outcome.trace, effects)
            # Chunk k of a ring of n may be every n-th number from the k-th on.
            places = np.arange(NUM_PARAMETERS)
            dealt = np.concatenate([places[k :: outcome.ranks] for k in range(outcome.ranks)])
            assert_contributions_sent(outcome, outcome["own"], other_order=dealt)


def _assert_computes_no_gradient(outcome: Outcome) -> None:
    """Assert that no call computes gradients: it could do so from the other ranks' examples."""
    for rank, (number,) in enumerate(outcome["num_backward"]):
        if number:
            raise NotProven.of(
                "mean.computed_anew",
                f"on rank {rank}, average_gradients computed gradients {counted(number, 'time')}. "
                "The mean might come from these; your instructor reviews this part",
                rank=rank,
                number=int(number),
            )


def _effects(
    run: Run, case: Training, outcome: Outcome, faults: Sequence[MessageFault]
) -> list[FaultEffect]:
    before = _plausible_elements(outcome)
    always_plausible = before.copy()
    plausible: dict[MessageFault | None, NDArray[np.bool_]] = {}

    def note(_: Training, unaltered: Outcome) -> None:
        assert_any_result(unaltered)
        np.logical_and(always_plausible, _plausible_elements(unaltered), out=always_plausible)

    def note_altered(altered_case: Training, altered: Outcome) -> Collection[int]:
        if num_epochs(altered):
            plausible[altered_case.message_fault] = _plausible_elements(altered)
        return range(outcome.ranks)

    effects = inject_faults(
        run, outcome.ranks, case, outcome, faults, note, note_altered, tries_elsewhere=True
    )
    is_right = holds(assert_trained_as_one, case, outcome)
    found = []
    for effect in effects:
        ranks = effect.influenced
        if effect.message in plausible:
            here = plausible[effect.message]
            changed = always_plausible & ~here
            # Buffers keep what was altered: it shows against the case before any alteration.
            if not is_right and not changed.any() and (before & ~here).any():
                continue
            ranks = frozenset(rank for rank in ranks if changed[rank].any())
        found.append(replace(effect, influenced=ranks))
    return found


def _plausible_elements(outcome: Outcome) -> NDArray[np.bool_]:
    """Return of each rank which elements are plausible in the first epoch, a row a rank."""
    return np.array([is_plausible(outcome, rank, epoch=0) for rank in range(outcome.ranks)])
