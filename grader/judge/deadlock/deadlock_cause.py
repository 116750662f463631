"""Names the cause of a deadlock in one sentence: what all that wait have in common."""

from collections.abc import Iterable

from grader.judge.deadlock.unmatched import difference
from grader.judge.traffic.collective_differences import difference_in
from grader.model.evidence import Deadlock
from grader.model.finding import Fact, Finding, found
from grader.trace.call_formatting import name_of, ranks_have, ranks_text
from grader.trace.collectives import is_collective
from grader.trace.wait_for_graph import StalledRun

_FEWEST_OF_A_RING = 3


def cause_of(situation: StalledRun, picture: Deadlock) -> Finding:
    """Return the cause, with the lines that take part in it."""
    told = (
        _collective(situation)
        or _same_neighbour(situation)
        or _other_message(situation)
        or _returned(situation)
        or _cycle(picture)
        or _never_sent(situation)
    )
    facts: dict[str, Fact] = {
        "places": tuple(dict.fromkeys(each.place for each in picture.notes)),
        "waiting": tuple(each.rank for each in picture.waiting),
    }
    return Finding(told.key, told.text, {**told.facts, **facts}, told.help)


def _collective(situation: StalledRun) -> Finding | None:
    for rank, call in situation.all_stuck_calls():
        gathering = situation.gatherings.of(rank, call) if is_collective(call) else None
        if gathering is None or gathering.is_complete:
            continue
        name = name_of(call)
        if differs := difference_in(gathering):
            return differs
        if not gathering.agrees:
            return found(
                "deadlock.other_collective",
                f"Some ranks wait in {name}, but others called a different collective.",
                help="all ranks of a communicator must call the same collectives in the same order",
                call=name,
            )
        if gathering.failed:
            return found(
                "deadlock.failed_collective",
                f"{_wait(gathering.calls.keys() - gathering.failed)} in {name}, which failed "
                f"on {ranks_text(gathering.failed)}.",
                call=name,
                failed=gathering.failed,
            )
        if not gathering.missing:
            return found(
                "deadlock.few_in_collective",
                f"Not all ranks of the communicator called {name}.",
                help=f"every rank of a communicator must call {name}",
                call=name,
            )
        so_often = " as often" if gathering.number else ""
        return found(
            "deadlock.absent_from_collective",
            f"{_wait(gathering.calls)} in {name}, but {ranks_have(gathering.missing)} not called it"
            f"{so_often}.",
            help="every rank of a communicator must call its collectives, "
            f"{ranks_text(gathering.missing)} included",
            call=name,
            absent=gathering.missing,
        )
    return None


def _other_message(situation: StalledRun) -> Finding | None:
    differs = difference(situation)
    if not differs:
        return None
    return found(
        "deadlock.other_message",
        f"A message and a waiting receive do not match: their {differs} differ.",
        help="compare the two lines: source, destination, tag, and communicator must match",
        differs=differs,
    )


def _same_neighbour(situation: StalledRun) -> Finding | None:
    """Return that each rank waits for the one that it sends to, which fits two ranks only."""
    sends_to: dict[int, set[int]] = {}
    for message in situation.matches.unreceived:
        sends_to.setdefault(message.rank, set()).add(message.call.peer)
    is_so = len(situation.needs) >= _FEWEST_OF_A_RING and not situation.gone
    is_so = is_so and all(
        rank in sends_to
        and situation.waits_for(rank) == sends_to[rank]
        and all(call.is_receive for call in situation.stuck_calls(rank))
        and not any(rank in sends_to.get(other, ()) for other in sends_to[rank])
        for rank in situation.needs
    )
    if not is_so:
        return None
    return found(
        "deadlock.same_neighbour",
        "Every rank waits for a message from the rank it sends to.",
        help="receive from the rank that sends to you",
    )


def _returned(situation: StalledRun) -> Finding | None:
    awaited = frozenset[int]().union(*(situation.waits_for(rank) for rank in situation.needs))
    gone = awaited & situation.gone
    if not gone:
        return None
    have = "has" if len(gone) == 1 else "have"
    return found(
        "deadlock.returned",
        f"{_wait(situation.needs)} for {ranks_text(gone)}, which {have} already returned.",
        returned=gone,
    )


def _cycle(picture: Deadlock) -> Finding | None:
    if not picture.cycle:
        return None
    pairs = zip(picture.cycle, (*picture.cycle[1:], picture.cycle[0]), strict=True)
    told = ", ".join(f"{one} for {other}" for one, other in pairs)
    whom = "itself" if len(picture.cycle) == 1 else f"each other: {told}"
    return found("deadlock.cycle", f"{_wait(picture.cycle)} for {whom}.", cycle=picture.cycle)


def _never_sent(situation: StalledRun) -> Finding:
    stuck = situation.all_stuck_calls()
    who = _wait(situation.needs)
    if stuck and all(call.is_send for _, call in stuck):
        return found("deadlock.never_received", f"{who} for a receive that no rank posts.")
    return found("deadlock.never_sent", f"{who} for a message that no rank sends.")


def _wait(ranks: Iterable[int]) -> str:
    """Return `Rank 2 waits` or `Ranks 0 and 1 wait`."""
    named = set(ranks)
    text = ranks_text(named)
    return f"{text[0].upper()}{text[1:]} {'waits' if len(named) == 1 else 'wait'}"
