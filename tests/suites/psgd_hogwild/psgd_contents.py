"""Whether what the ranks of psgd have learned comes together by what they send each other."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from grader.api import (
    Call,
    FaultEffect,
    Launch,
    MessageFault,
    NotProven,
    Outcome,
    assert_answers_follow,
    case_context,
    every_contribution_fault,
    every_message_fault,
    inject_faults,
    is_zeros,
    may_hold,
)

from .psgd_cases import Psgd
from .psgd_checks import assert_come_together, ranks_with_all
from .softmax_regression import Vector
from .training_cases import NUM_PARAMETERS, given_start

_NUM_BYTES = 4 * NUM_PARAMETERS
_FLOAT32 = np.float32
_FEWEST_NUMBERS = 4
"""That show a multiple."""


def assert_weights_given(case: Psgd, outcome: Outcome) -> None:
    """Assert that all ranks but one give messages or collectives what they learned, or sums of it.

    Half of it at least, as weights or as their change, in any multiple: that of the mean is looked
    for by itself. The one may hand out the mean. Raises NotProven.
    """
    with case_context(case, outcome):
        learned = [_learned(case, outcome, rank) for rank in range(outcome.ranks)]
        start = given_start(outcome, 0)
        without = []
        for rank in range(outcome.ranks):
            arrays = [*_sums(learned, rank), *_sums([each - start for each in learned], rank)]
            calls = outcome.trace.ranks[rank].calls
            arrays += [each / outcome.ranks for each in arrays]
            held = sum(_num_bytes_given(call, arrays, rank) for call in calls)
            if 2 * held < _NUM_BYTES:
                without.append(rank)
        if len(without) > 1:
            raise NotProven.of(
                "evidence.weights_not_given",
                "samples of messages and collectives contain no results from ranks "
                f"{without[0]} and {without[1]}, nor any sums of them. The mean "
                "might not come from messages; your instructor reviews this part",
                ranks=without,
            )


def assert_weights_come_by_mpi(run: Callable[..., Launch], case: Psgd, outcome: Outcome) -> None:
    """Assert that ranks end otherwise once what one of them gives the others is altered.

    What it gives to collectives, or else its longer messages. Raises NotProven.
    """
    usual = {*ranks_with_all(case, outcome)}

    def missing(altered_case: Psgd, altered: Outcome) -> Collection[int]:
        return usual - {*ranks_with_all(altered_case, altered)}

    def inject(faults: Sequence[MessageFault]) -> list[FaultEffect]:
        return inject_faults(
            run,
            outcome.ranks,
            case,
            outcome,
            faults,
            assert_come_together,
            missing,
            tries_elsewhere=True,
        )

    happened: list[FaultEffect] = []
    for every_fault in (every_contribution_fault, every_message_fault):
        faults = every_fault(outcome, range(outcome.ranks))
        # An order of the examples may be longer than the weights.
        least = _NUM_BYTES // 4
        faults = tuple(replace(f, min_num_bytes=min(f.min_num_bytes, least)) for f in faults)
        effects = [each for each in inject(faults) if each.happened]
        happened += effects
        if effects and all(each.influenced and not each.noticed for each in effects):
            return
    with case_context(case, outcome):
        assert_answers_follow(outcome.trace, happened)


def _num_bytes_given(call: Call, arrays: list[Vector], rank: int) -> int:
    """Return how many bytes of one of these a call may give to other ranks.

    A few numbers, text, and pieces of unknown sizes cannot be told from others.
    """
    is_to_itself = call.communicator_size == 1 or (call.is_send and call.peer == rank)
    if call.error or is_to_itself:
        return 0
    if "educe_scatter" in call.function:
        # A call tells the piece that each rank gets, or nothing.
        whole = call.num_bytes * call.communicator_size
        return min(whole, _NUM_BYTES) if call.num_bytes >= 0 else _NUM_BYTES
    if call.sampled_num_bytes <= 0:
        return call.num_bytes if call.pickled or call.sampled_num_bytes else 0
    if is_zeros(call):
        return 0
    if call.sampled_num_bytes < _FEWEST_NUMBERS * np.dtype(_FLOAT32).itemsize:
        return call.sampled_num_bytes
    return call.num_bytes if any(may_hold(call, each, scaled=True) for each in arrays) else 0


def _learned(case: Psgd, outcome: Outcome, rank: int) -> Vector:
    """Return what a rank's steps lead to, bit for bit."""
    weights = given_start(outcome, 0).astype(_FLOAT32)
    for gradient in outcome["gradients"][rank]:
        weights = weights - _FLOAT32(case.lr) * gradient
    return weights.astype(np.float64)


def _sums(learned: list[Vector], rank: int) -> Iterator[Vector]:
    """Yield the sums over all sets of ranks with this one, but never over all ranks."""
    others = [each for other, each in enumerate(learned) if other != rank]
    for number in range(len(others)):
        for chosen in combinations(others, number):
            yield np.sum([learned[rank], *chosen], axis=0)
