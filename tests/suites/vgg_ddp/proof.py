"""Whether steps come from what is sent: it is altered on its way, and do the steps change?"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.api import (
    Launch,
    assert_messages_matter,
    case_context,
    every_payload_fault,
    inject_faults,
)

from .checks import Check
from .serial import num_parameters
from .train_cases import Training, epoch_of

Run = Callable[[int, tuple[Training, ...]], Launch]

_RANKS = 4
_ITEM_NUM_BYTES = 2
"""Of a gradient, which some send in half precision."""
_PIECES = 16 * _RANKS
"""In which a gradient travels at most, of those that DistributedDataParallel reduces."""


def assert_steps_come_from_payloads(
    run: Run, cases: Sequence[Training], check: Check, *, within_backward: bool = False
) -> None:
    """Assert that steps go wrong once what gloo sends of a rank is altered, for each of 4 ranks.

    check: of the steps; where it does not hold without that, nothing is asked. within_backward: of
    what DistributedDataParallel sends there, in place of what is sent after it. Raises NotProven.
    """
    for case, outcome in epoch_of(run(_RANKS, cases)).holding(check):
        altered = case
        options = {}
        if within_backward:
            altered = replace(case, phase="backward")
            least = num_parameters(case.first_channels) * _ITEM_NUM_BYTES // _PIECES
            options = {"operations": ("all_reduce",), "min_num_bytes": least}
        faults = every_payload_fault(outcome, range(_RANKS), **options)
        effects = inject_faults(run, _RANKS, altered, outcome, faults, check)
        with case_context(case, outcome):
            assert_messages_matter(outcome.trace, effects)
