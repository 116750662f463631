"""Whether steps come from what is sent: it is altered on its way, and do the steps change?"""

import math
from collections.abc import Sequence
from dataclasses import replace

from grader.api import (
    MessageFault,
    NotProven,
    Outcome,
    RunFailure,
    assert_answers_follow,
    assert_contributions_sent,
    case_context,
    every_payload_fault,
    inject_faults,
    listed,
    not_run,
)

from .batches import assert_steps_use_all_batches, has_other_loss, own_gradients
from .checks import Check, Run, naming_case
from .serial import channels_last, num_parameters, shapes
from .steps import num_steps
from .train_cases import Training, epoch_of

_RANKS = 4
_CARRIERS = {
    "gather": ("gather", "scatter"),
    "all_reduce": ("all_reduce",),
    "isend": ("message",),
}
"""By the operation of a part, as what gloo sends all that carries gradients there."""
_ITEM_NUM_BYTES = 2
"""Of a gradient, which some send in half precision."""
_PIECES = 16 * _RANKS
"""In which a gradient travels at most; what tells which parameters were used is shorter."""
_ONE_BUCKET_NUM_BYTES = 1 << 24


def assert_steps_come_from_payloads(run: Run, cases: tuple[Training, ...], check: Check) -> None:
    """Assert that steps go wrong once what gloo sends of a rank is altered, for each of 4 ranks.

    Of what is sent between backward and the step, for the operations of the part: what comes by
    another one stays as it is. By samples, that has to be what backward left, or sums of it.
    check: of the steps; where it does not hold without that, nothing is asked. Raises NotProven.
    """
    for case, outcome in epoch_of(run(_RANKS, cases)).holding(check):
        faults = every_payload_fault(outcome, range(_RANKS), operations=_CARRIERS[case.exchange])
        _assert_matter(run, case, outcome, faults, check)
        with case_context(case, outcome):
            operations = _CARRIERS[case.exchange]
            order = channels_last(case.first_channels)
            assert_contributions_sent(
                outcome, outcome["local"], operations=operations, other_order=order
            )
        _assert_not_by_others(run, case, outcome, check)


def _assert_not_by_others(run: Run, case: Training, outcome: Outcome, check: Check) -> None:
    """Assert that steps stay right when what other operations send, at any time, is altered.

    Where these send enough to average gradients: then the part's own may be for show. Parameters
    that a program sends change no step, since steps are compared with what backward has left. What
    is called between backward and the step is left to the part's rule.
    """
    seen = {call.function for rank in outcome.trace.ranks for call in rank.calls}
    of_part = seen.union(_CARRIERS[case.exchange])
    by_others = [
        {name: each for name, each in (samples or {}).items() if name not in of_part}
        for samples in outcome.gloo_samples
    ]
    num_bytes = sum(each.num_bytes for samples in by_others for each in samples.values())
    gradient = num_parameters(case.first_channels) * _ITEM_NUM_BYTES
    if num_bytes <= (outcome.ranks - 1) * gradient * num_steps(case, outcome):
        return
    operations = sorted({name for samples in by_others for name in samples})
    faults = every_payload_fault(
        outcome, range(_RANKS), operations=operations, min_num_bytes=gradient // _PIECES
    )
    at_any_time = replace(case, phase="all")
    effects = inject_faults(run, _RANKS, at_any_time, outcome, faults, naming_case(check))
    for effect in effects:
        if effect.happened and effect.influenced and not effect.ended:
            with case_context(case, outcome):
                raise NotProven.of(
                    "evidence.by_another_operation",
                    f"we altered rank {effect.message.rank}'s data in other operations "
                    f"({listed(operations)}), and the steps changed. The average might come "
                    "from these operations; your instructor reviews this part",
                    operations=operations,
                    rank=effect.message.rank,
                )


def assert_steps_come_from_backward(run: Run, cases: tuple[Training, ...]) -> None:
    """Assert the same of what DistributedDataParallel reduces within backward. Raises NotProven."""
    for case, outcome in epoch_of(run(_RANKS, cases)).holding(assert_steps_use_all_batches):
        least = num_parameters(case.first_channels) * _ITEM_NUM_BYTES // _PIECES
        faults = every_payload_fault(
            outcome, range(_RANKS), operations=("all_reduce",), min_num_bytes=least
        )
        within = replace(case, phase="backward")
        _assert_matter(run, within, outcome, faults, assert_steps_use_all_batches)
        if has_other_loss(case, outcome):
            continue  # The oracle does not know its gradients; it is for another test.
        with case_context(case, outcome):
            # Backward leaves the mean: what it averages is known by the oracle only.
            own = own_gradients(case, outcome)
            order = channels_last(case.first_channels)
            assert_contributions_sent(outcome, own, operations=("all_reduce",), other_order=order)


def assert_reduced_in_buckets(run: Run, cases: tuple[Training, ...]) -> None:
    """Assert that what the ranks reduce at once follows the buckets that the judge asks for.

    With one bucket for all gradients, gloo sends longer pieces than with one for each. Whoever
    averages by hand does not follow. Raises NotProven.
    """
    for case, outcome in epoch_of(run(_RANKS, cases)).holding(assert_steps_use_all_batches):
        samples = next(iter(outcome.gloo_samples), None) or {}
        sent = samples["all_reduce"].num_bytes if "all_reduce" in samples else 0
        num_numbers = 2 * (_RANKS - 1) / _RANKS * num_parameters(case.first_channels)
        may_be_double = sent / num_steps(case, outcome) > 6 * num_numbers
        precisions: list[tuple[int, ...]] = [(2, 4), (8,)] if may_be_double else [(2, 4)]
        if not any(_follows(run, case, outcome, each) for each in precisions):
            with case_context(case, outcome):
                raise NotProven.of(
                    "evidence.not_in_buckets",
                    "we changed DistributedDataParallel's bucket size, but the sizes of the "
                    "messages did not change. The average might not come from "
                    "DistributedDataParallel; your instructor reviews this part",
                )


def _follows(run: Run, case: Training, outcome: Outcome, item_sizes: tuple[int, ...]) -> bool:
    """Return whether longer pieces are sent with one bucket than with many.

    item_sizes: how many bytes a number may have.
    """
    of_all = min(item_sizes) * num_parameters(case.first_channels)
    of_longest = max(item_sizes) * max(map(math.prod, shapes(case.first_channels).values()))
    # gloo reduces an array in two pieces for each rank.
    least = (of_all + of_longest) // 2 // (2 * _RANKS)
    faults = every_payload_fault(
        outcome, range(_RANKS), operations=("all_reduce",), min_num_bytes=least
    )
    in_buckets = replace(case, probe="train_in_buckets", phase="backward", message_fault=faults[-1])
    lengths = (_ONE_BUCKET_NUM_BYTES, 1)
    altered = [replace(in_buckets, bucket_num_bytes=each) for each in lengths]
    answers = [answer for _, answer in run(_RANKS, tuple(altered)).answers()]
    if len(answers) < len(altered):
        not_run("no time was left to run with other bucket sizes")
    in_one, in_many = answers
    return _is_altered(in_one) and not (isinstance(in_many, Outcome) and _is_altered(in_many))


def _is_altered(answer: Outcome | RunFailure) -> bool:
    return isinstance(answer, RunFailure) or answer.num_altered > 0


def _assert_matter(
    run: Run, case: Training, outcome: Outcome, faults: Sequence[MessageFault], check: Check
) -> None:
    named = naming_case(check)
    effects = inject_faults(run, _RANKS, case, outcome, faults, named, tries_elsewhere=True)
    with case_context(case, outcome):
        assert_answers_follow(outcome.trace, effects)
