"""Whether synchronous training comes from what is sent: it is altered, and does training change?"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from grader.api import (
    Call,
    MessageFault,
    NotProven,
    Outcome,
    assert_answers_follow,
    assert_envelopes_too_small,
    case_context,
    every_contribution_fault,
    every_message_fault,
    in_drawn_order,
    inject_faults,
    may_hold,
    not_run,
    samples_of,
)

from . import serial
from .first_step import combined_num_bytes, first_gradient, same_contributions_as
from .fit_cases import FLOAT64_NUM_BYTES, Fit, assert_own_batches
from .gradient_faults import narrowed
from .summing import PICKLE_NUM_BYTES, gives, gradient_num_bytes
from .sync_cases import (
    FIRST_STEP,
    Cases,
    Check,
    Run,
    assert_trained_as_one_process,
    launch_of,
)

_DRAWN_RANKS = (4, 3, 5)
"""On one of which messages are altered; the seed decides which."""
_OTHER_RANKS = (8, 16, 2)
"""On the first of these, where nothing can be altered on those."""
_MOST_RANKS = 5
"""On which it can be looked through whose gradients a sum may hold."""
_MOST_CALLS = 100
"""Of a rank, the longest first, that are looked through: each takes milliseconds."""
_TOGETHER_NUM_BYTES = 24
"""As many numbers given one by one as are samples of a message."""


def assert_gradients_come_from_messages(run: Run, cases: Cases, used: Check) -> None:
    """Assert that training goes wrong once a rank's messages of gradients are altered on their way.

    Where none is seen to hold gradients, all longer ones are altered: short ones may carry the
    dummies at index 0, which training does not need. cases: by ranks, all that the part is called
    with. used: says of a first step that it uses gradients; messages are altered in the first that
    does. Raises NotProven.
    """
    case, outcome, check = _first_use(run, cases, used)
    ranks = outcome.ranks
    faults = _in_gradients(case, outcome, every_message_fault(outcome, range(ranks)))
    effects = inject_faults(run, ranks, case, outcome, faults, check, tries_elsewhere=True)
    assert_answers_follow(outcome.trace, effects)
    with case_context(case, outcome):
        assert_own_batches(case, outcome, range(outcome.ranks))
    for each in _first_uses(run, cases, used):
        with case_context(*each):
            _assert_gradients_are_given(*each)


def assert_gradients_come_through_mpi(run: Run, cases: Cases, used: Check) -> None:
    """Assert the same of what a rank gives to collectives, or else of its longer messages.

    Lower-case reductions are made of messages. Raises NotProven.
    """
    uses = _first_uses(run, cases, used)
    for case, outcome in uses:
        with case_context(case, outcome):
            share = (outcome.ranks - 1) / outcome.ranks
            needed = case.num_steps * gradient_num_bytes(case) * share
            assert_envelopes_too_small(outcome.trace, needed)
    case, outcome, check = _first_use(run, cases, used)
    ranks = outcome.ranks
    with case_context(case, outcome):
        happened = []
        for every_fault in (every_contribution_fault, every_message_fault):
            faults = _in_gradients(case, outcome, every_fault(outcome, range(ranks)))
            effects = inject_faults(run, ranks, case, outcome, faults, check, tries_elsewhere=True)
            effects = [effect for effect in effects if effect.happened]
            happened += effects
            if effects and all(each.influenced and not each.noticed for each in effects):
                break
        else:
            assert_answers_follow(outcome.trace, happened)
        assert_own_batches(case, outcome, range(ranks))
    for each in uses:
        with case_context(*each):
            _assert_gradients_are_given(*each)


def _assert_gradients_are_given(case: Fit, outcome: Outcome) -> None:
    """Assert that all ranks but one send or give to collectives a piece of a sum with their own.

    Of gradients, by samples; any multiple will do, and so will the weights after a step of it. The
    one may hand out what came of all. Raises NotProven.
    """
    n = outcome.ranks
    if n > _MOST_RANKS:
        return
    needed = (combined_num_bytes(case, outcome) or gradient_num_bytes(case)) / (2 * n)
    without = [rank for rank in range(n) if not _gives_gradients(case, outcome, rank, needed)]
    if len(without) > 1:
        raise NotProven.of(
            "evidence.gradients_not_given",
            f"samples of the messages show no piece of the gradients of ranks {without[0]} and "
            f"{without[1]}, alone or in a sum. The trained network "
            "might not come from messages or collectives; your instructor reviews this part",
            ranks=without,
        )


def _gives_gradients(case: Fit, outcome: Outcome, rank: int, needed: float) -> bool:
    given = [call for call in outcome.trace.ranks[rank].calls if gives(call)]
    num_bytes = sum(_unseen_num_bytes(call, needed) for call in given)
    holds_gradients = _holds_gradients(case, outcome, rank)
    sampled = _numbers_together(call for call in given if call.sampled_num_bytes > 0)
    longest = sorted(sampled, key=lambda call: call.num_bytes, reverse=True)
    for call in longest[:_MOST_CALLS]:
        if num_bytes >= needed:
            break
        num_bytes += call.num_bytes if holds_gradients(call) else 0
    return num_bytes >= needed


def _in_gradients(
    case: Fit, outcome: Outcome, faults: Iterable[MessageFault]
) -> Sequence[MessageFault]:
    """Return faults of all messages, each for those alone that hold a sum of gradients."""
    if outcome.ranks > _MOST_RANKS or case.num_steps > 1:
        return [*faults]
    return [
        narrowed(outcome.trace, fault, _holds_gradients(case, outcome, fault.rank))
        for fault in faults
    ]


def _holds_gradients(case: Fit, outcome: Outcome, rank: int) -> Callable[[Call], bool]:
    """Return what tells whether a call gives a piece of a sum with a rank's gradients.

    Of a first step.
    """
    n, start = outcome.ranks, outcome.inputs[0]["start"]
    gradients = [serial.packed(first_gradient(case, outcome, r), case.sizes) for r in range(n)]
    others = [gradients[other] for other in range(n) if other != rank]
    # The sum over all ranks but itself is nothing that a rank could give.
    chosen = [some for number in range(n) for some in combinations(others, number)]
    sums = [sum(some, start=gradients[rank]) for some in chosen]
    # A rank that passes on a sum of weights has added as many starts.
    steps = [
        (1 + len(some)) * start - case.learning_rate * times * each
        for some, each in zip(chosen, sums, strict=True)
        for times in (1, n)
    ]
    arrays = [*sums, *steps]

    def holds(call: Call) -> bool:
        for number, array in enumerate(arrays):
            if may_hold(call, array, scaled=True):
                # The next one is likely to be a piece of the same.
                arrays.insert(0, arrays.pop(number))
                return True
        return False

    return holds


def _unseen_num_bytes(call: Call, needed: float) -> float:
    """Return the size of what was not sampled, or is in a code that nobody reads.

    A pickle of which nothing was sampled has no numbers.
    """
    if call.sampled_num_bytes > 0 or (call.pickled and not call.sampled_num_bytes):
        return 0
    return call.num_bytes if call.num_bytes >= 0 else needed


def _numbers_together(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield calls, those of one number each as messages of several: one alone is no evidence."""
    numbers: dict[int, dict[bytes, Call]] = {4: {}, 8: {}}
    for call in calls:
        words = {word for word in samples_of(call, "i8").tolist() if word}
        if 0 < call.sampled_num_bytes < FLOAT64_NUM_BYTES:
            words = {call.sample_first}
        if len(words) != 1 or call.num_bytes >= PICKLE_NUM_BYTES / 2:
            yield call
        elif (size := min(call.sampled_num_bytes, FLOAT64_NUM_BYTES)) in numbers:
            number = words.pop() & ((1 << 8 * size) - 1)
            numbers[size].setdefault(number.to_bytes(size, "little"), call)
    for singles in numbers.values():
        raw = b"".join(singles)
        for begin in range(0, len(raw), _TOGETHER_NUM_BYTES):
            part = raw[begin : begin + _TOGETHER_NUM_BYTES]
            first, middle, last = struct.unpack("<3q", part.ljust(_TOGETHER_NUM_BYTES, b"\0"))
            yield replace(
                next(iter(singles.values())),
                pickled=False,
                num_bytes=len(part),
                sampled_num_bytes=_TOGETHER_NUM_BYTES,
                sample_first=first,
                sample_middle=middle,
                sample_last=last,
            )


def _drawn(run: Run, cases: Cases) -> Sequence[int]:
    for ranks in _DRAWN_RANKS:
        for _, answer in launch_of(run, cases, ranks, FIRST_STEP).answers():
            if isinstance(answer, Outcome):
                return in_drawn_order(answer, _DRAWN_RANKS)
    return _DRAWN_RANKS


def _first_uses(run: Run, cases: Cases, used: Check) -> Sequence[tuple[Fit, Outcome]]:
    """Return the first steps that use gradients on these ranks, else the first on any others."""
    launches = [launch_of(run, cases, ranks, FIRST_STEP) for ranks in _DRAWN_RANKS]
    uses = [each for launch in launches for each in launch.holding(used)]
    return uses or [_first_use(run, cases, used)[:2]]


def _first_use(run: Run, cases: Cases, used: Check) -> tuple[Fit, Outcome, Check]:
    """Return a training that uses gradients, and the check that another one does so as well."""
    for ranks in (*_drawn(run, cases), *_OTHER_RANKS):
        for case, outcome in launch_of(run, cases, ranks, FIRST_STEP).holding(used):
            if case.num_steps > 1:
                return case, outcome, assert_trained_as_one_process
            return case, outcome, same_contributions_as(case, outcome)
    not_run("needs a first step that uses the gradients of several ranks")
