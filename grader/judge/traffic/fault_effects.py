"""Whether answers come from the messages: one is altered on its way, and which answers change?

The ranks whose answers change are the message's influence set. If it is empty, the messages that a
trace shows may be a decoy, whose content no rank needed.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from grader.judge.check_failures import NotProven, WrongAnswer
from grader.judge.traffic.collective_differences import collective_difference
from grader.judge.traffic.counting import assert_not_truncated, sends_of
from grader.judge.traffic.message_faults import contributions, counted_sends, payload_calls
from grader.model.plural import counted
from grader.model.report import MessageFault, Outcome, RunFailure
from grader.trace.call_formatting import at, listed, name_of, ranks_text
from grader.trace.calls import Call, Trace

_LOOK = "your instructor reviews this part"
_CANNOT_READ = re.compile(
    r"exception: (?:(?:\w+\.)*(?:error|LZMAError|\w*[Pp]ickling\w*|EOFError|Bad\w*File|TokenError|"
    r"\w*DecodeError|ModuleNotFoundError)(?::|$)|AttributeError: Can't get attribute|"
    r"ValueError: Cannot parse header|"
    r"RuntimeError: (?:PytorchStreamReader|Invalid magic|storage has wrong))"
)
"""What Python and torch.load say of packed bytes that were altered."""


@dataclass(frozen=True)
class FaultEffect:
    """The effects of messages that were altered in a case."""

    message: MessageFault
    happened: bool
    """A message really left altered; else the case says nothing."""
    influenced: frozenset[int]
    """The ranks whose answers are not what they would be without."""
    ended: bool = False
    """The run ended, or an answer was refused for its form: of single ranks nothing is known."""
    noticed: bool = False
    """It ended, and not because packed bytes could not be read."""


def effect_of(
    message: MessageFault,
    answer: Outcome | RunFailure,
    ranks: int,
    wrong_ranks: Callable[[Outcome], Collection[int]],
) -> FaultEffect:
    """Return what a fault led to.

    answer: of the altered case; a run that ended, or a refused answer, is an influence on all.
    wrong_ranks: which answers of an outcome are wrong.
    """
    if isinstance(answer, RunFailure):
        noticed = not _CANNOT_READ.match(answer.kind)
        return FaultEffect(message, True, frozenset(range(ranks)), ended=True, noticed=noticed)
    return FaultEffect(message, answer.num_altered > 0, frozenset(wrong_ranks(answer)))


def assert_answers_follow(trace: Trace, effects: Sequence[FaultEffect]) -> None:
    """Assert that each fault changed some answer, and that no rank ended the run because of it.

    A rank cannot see that a number is wrong. If it ends the run because of one, it may have the
    correct number from elsewhere. trace, raises: as for assert_messages_matter.
    """
    assert_messages_matter(trace, effects)
    for effect in effects:
        if effect.happened and effect.noticed:
            raise NotProven.of(
                "evidence.altered_message_noticed",
                f"{_told(trace, effect.message)}, and the run ended without results. If "
                "your code noticed the change, it might have the number from elsewhere; "
                f"{_LOOK}",
                rank=effect.message.rank,
            )


def assert_messages_matter(trace: Trace, effects: Sequence[FaultEffect]) -> None:
    """Assert that each fault changed some rank's answer.

    For messages that a correct solution needs, every one and every element of it.
    trace: of the same call without faults, to tell where a message was sent.
    Raises NotProven for the first fault without influence, and where none could be made;
    WrongAnswer where ranks do not agree on a collective, which may leave out what others give.
    """
    _assert_any_happened(effects)
    for effect in effects:
        if effect.happened and not effect.influenced:
            if differs := collective_difference(trace):
                raise WrongAnswer(differs)
            raise NotProven.of(
                "evidence.altered_message_without_effect",
                f"{_told(trace, effect.message)}, but no result changed. The results might "
                f"not come from the messages; {_LOOK}",
                rank=effect.message.rank,
            )


def assert_some_message_matters(effects: Sequence[FaultEffect]) -> None:
    """Assert that at least one of the faults changed some rank's answer without ending the run.

    For traffic of which a correct solution may send more than it needs. Raises NotProven.
    """
    _assert_any_happened(effects)
    happened = [effect for effect in effects if effect.happened]
    if not any(effect.influenced and not effect.ended for effect in happened):
        ended = all(effect.ended for effect in happened)
        came = "no run produced results" if ended else "no result changed"
        number = len(happened)
        messages = counted(number, "message", "messages, each in its own run")
        raise NotProven.of(
            "evidence.no_altered_message_matters",
            f"we changed {messages}, but {came}. The results might not come from the "
            f"messages; {_LOOK}",
            number=number,
        )


def assert_ring_influence(trace: Trace, effects: Sequence[FaultEffect]) -> None:
    """Assert that faults in single messages of a ring all-reduce spread as in a ring.

    In a ring that sends no more than it needs, each element travels n - 1 hops while it is summed
    (reduce-scatter), and n - 1 hops more as the result (all-gather). A fault in the first half
    changes the answers of all ranks. A fault in the second half changes those of the ranks that
    the element has still to reach: neighbours along the ring, from the receiver on. A rank that
    sends 2 (n - 1) equal messages therefore sends n - 1 that change all answers, and one each that
    changes n - 1, ..., 2 and 1 of them, in any order. On 2 ranks nothing of this is asserted,
    because they may exchange all they have.

    Says nothing about traffic that is no ring. effects: of single_message_faults.
    Raises NotProven, also for what assert_answers_follow does.
    """
    assert_not_truncated(trace)
    assert_answers_follow(trace, effects)
    after = _successors(trace)
    n = len(trace.ranks)
    if after is None or n <= 2:
        return
    for effect in effects:
        run = _run_from(after, after[effect.message.rank], len(effect.influenced))
        if effect.happened and effect.influenced != run:
            raise NotProven.of(
                "evidence.influence_unlike_a_ring",
                f"{_told(trace, effect.message)}, and the results of "
                f"{ranks_text(effect.influenced)} changed. In a ring, those of "
                f"{ranks_text(run)} would change. The results might not come from the messages "
                f"alone; {_LOOK}",
                rank=effect.message.rank,
                influenced=effect.influenced,
                expected=run,
            )
    for rank in range(n):
        own = [effect for effect in effects if effect.message.rank == rank]
        sizes = {call.num_bytes for call in sends_of(trace, rank)}
        is_plain = len(sends_of(trace, rank)) == 2 * (n - 1) == len(own) and len(sizes) == 1
        num_influenced = sorted(len(effect.influenced) for effect in own)
        expected = [*range(1, n), *[n] * (n - 1)]
        is_known = all(effect.happened for effect in own)
        if is_plain and is_known and num_influenced != expected:
            raise NotProven.of(
                "evidence.influences_unlike_a_ring",
                f"we changed rank {rank}'s {len(own)} messages, one per run. In ascending "
                f"order, the results of {listed(map(str, num_influenced))} ranks changed; in "
                f"a ring, it would be {listed(map(str, expected))}. The results might not "
                f"come from the messages alone; {_LOOK}",
                rank=rank,
                influenced=num_influenced,
                expected=expected,
            )


def _assert_any_happened(effects: Sequence[FaultEffect]) -> None:
    if not any(effect.happened for effect in effects):
        raise NotProven.of(
            "evidence.no_message_altered",
            "we could not change any message, so nothing shows that the results come from "
            f"the messages; {_LOOK}",
        )


def _told(trace: Trace, message: MessageFault) -> str:
    rank, number = message.rank, message.num_messages
    calls: Sequence[Call]
    if message.operations:
        calls, what = payload_calls(trace, rank), f"everything that rank {rank} passed to"
        what += " torch.distributed"
    elif message.of_collectives:
        calls = contributions(trace, rank, message.min_num_bytes)
        some = "everything" if message.number is None else f"{number} of the arrays"
        what = f"{some} that rank {rank} passed to collectives"
    else:
        calls = counted_sends(trace, rank, message.min_num_bytes)
        some = "all" if message.number is None else f"{number} of the"
        what = f"{some} messages that rank {rank} sent"
    begin = "the first: "
    if message.number is not None and number == 1:
        noun = "array passed to collectives" if message.of_collectives else "message"
        what, begin = f"rank {rank}'s {_ordinal(message.number + 1)} {noun}", ""
    first = next(iter(calls[message.number or 0 :]), None)
    return f"we changed {what}" + (f" ({begin}{name_of(first)}{at(first)})" if first else "")


def _successors(trace: Trace) -> list[int] | None:
    """Return to whom each rank sends, where that makes one ring of all; else None."""
    peers = [{call.peer for call in sends_of(trace, rank)} for rank in range(len(trace.ranks))]
    if any(len(each) != 1 for each in peers):
        return None
    after = [next(iter(each)) for each in peers]
    return after if len(_run_from(after, 0, len(after))) == len(after) else None


def _run_from(after: Sequence[int], first: int, length: int) -> frozenset[int]:
    """Return so many ranks along the ring, and at least one."""
    run = [first]
    while len(run) < length:
        run.append(after[run[-1]])
    return frozenset(run)


def _ordinal(number: int) -> str:
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if number % 100 in (11, 12, 13) else endings.get(number % 10, "th")
    return f"{number}{ending}"
