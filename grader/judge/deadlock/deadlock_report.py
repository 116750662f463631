"""Says who waits for whom in a run that hangs, and why nothing can come of it."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.judge.deadlock.deadlock_cause import cause_of
from grader.judge.deadlock.unmatched import undelivered, ungathered
from grader.judge.traffic.collective_calls import name_lower_case
from grader.model.evidence import Deadlock, PlaceNote, WaitingRank
from grader.model.finding import Finding
from grader.trace.call_formatting import at, name_of, place_of, ranks_have, ranks_text, signature_of
from grader.trace.calls import ANY_SOURCE, Call, Trace
from grader.trace.collectives import is_collective
from grader.trace.functions import BLOCKING_EXCHANGES
from grader.trace.wait_conditions import WaitCondition
from grader.trace.wait_for_graph import StalledRun, stalled_run, waiting_run

_MOST_RANKS = 6
_MOST_ITEMS = 3
_MOST_REQUESTS = 2
_MOST_SHOWN = 8
_MOST_PAIRS = 4
_RECEIVES, _SENDS, _WAITS, _STANDS = "receives", "sends", "waits forever", "never returns"


def find_deadlock(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> tuple[str, Deadlock, Finding] | None:
    """Return why no rank will ever go on, in a sentence, as a picture, and its cause; or None."""
    found = stalled_run(trace, returned, makes_progress=makes_progress)
    if found is None:
        return None
    named = waiting_run(name_lower_case(trace), returned, makes_progress=makes_progress)
    told = named or found
    drawn = picture(told)
    return sentence(told), drawn, cause_of(told, drawn)


def sentence(situation: StalledRun) -> str:
    """Return every waiting rank with its call, peer, tag and line, and then the reason."""
    clauses = [
        *_ranks(situation),
        *_gone(situation),
        *ungathered(situation),
        *undelivered(situation),
        *_cycle(situation),
    ]
    return f"deadlock: {'; '.join(clauses)}"


def picture(situation: StalledRun) -> Deadlock:
    """Return every waiting rank with whom it waits for, and the cycle."""
    waiting = tuple(
        WaitingRank(
            rank=rank,
            text=_needs_text(situation, rank),
            call=name_of(needs[0].call),
            place=place_of(needs[0].call),
            waits_for=tuple(sorted(situation.waits_for(rank))),
        )
        for rank, needs in sorted(situation.needs.items())
    )
    edges = {rank: situation.waits_for(rank) for rank in situation.needs}
    return Deadlock(
        waiting, tuple(sorted(situation.gone)), tuple(shortest_cycle(edges)), place_notes(situation)
    )


def _ranks(situation: StalledRun) -> Iterator[str]:
    """Yield what each rank waits in; of many, one for all that wait at the same place."""
    alike: dict[object, list[int]] = defaultdict(list)
    many = len(situation.needs) > _MOST_RANKS
    for rank, needs in sorted(situation.needs.items()):
        places = tuple((need.call.function, place_of(need.call)) for need in needs)
        alike[places if many else rank].append(rank)
    groups = list(alike.values())
    for first, *others in groups[:_MOST_RANKS]:
        likewise = f" ({ranks_text(others)} likewise)" if others else ""
        yield f"rank {first} {_needs_text(situation, first)}{likewise}"
    left = [rank for ranks in groups[_MOST_RANKS:] for rank in ranks]
    if left:
        yield f"{ranks_text(left)} {'waits' if len(left) == 1 else 'wait'} elsewhere"


def _needs_text(situation: StalledRun, rank: int) -> str:
    stuck = frozenset(call.sequence for call in situation.stuck_calls(rank))
    needs: Sequence[WaitCondition] = situation.needs[rank]
    texts = [_need_text(need, stuck) for need in needs[:_MOST_ITEMS]]
    return " and ".join(texts) + (" and more" if len(needs) > _MOST_ITEMS else "")


def _gone(situation: StalledRun) -> Iterator[str]:
    """Yield which ranks that somebody waits for will make no call any more."""
    waited: set[int] = set()
    unfinished: set[int] = set()
    half_done: dict[int, str] = {}
    for rank, call in situation.all_stuck_calls():
        for receive in situation.matches.partners.get((rank, call.sequence), []):
            posted = f"{signature_of(receive.call)}{at(receive.call)}"
            half_done.setdefault(receive.rank, posted)
        if call.function == "Finalize":
            unfinished |= situation.not_finalizing(rank) & situation.gone
        elif not is_collective(call):
            waited |= situation.gone if call.peer == ANY_SOURCE else situation.targets(rank, call)
    finalised = {rank for rank in situation.gone if situation.trace.ranks[rank].finalised}
    returned = (waited & situation.gone) - finalised - unfinished - set(half_done)
    for rank, posted in sorted(half_done.items())[:_MOST_ITEMS]:
        yield f"rank {rank} returned without waiting for its {posted}"
    if unfinished:
        yield f"{ranks_have(unfinished)} already returned without calling Finalize"
    if returned:
        yield f"{ranks_have(returned)} already returned"
    if waited & finalised - set(half_done):
        yield f"{ranks_have(waited & finalised - set(half_done))} already called Finalize"


def _cycle(situation: StalledRun) -> Iterator[str]:
    """Yield the shortest cycle of ranks that wait for each other, if messages are part of it."""
    edges = {rank: situation.waits_for(rank) for rank in situation.needs}
    cycle = shortest_cycle(edges)
    stuck = [call for rank in cycle for call in situation.stuck_calls(rank)]
    if any(not is_collective(call) and call.function != "Finalize" for call in stuck):
        yield cycle_text(cycle)


def _need_text(need: WaitCondition, stuck: frozenset[int] = frozenset()) -> str:
    """Return `waits in Wait at ring.py:41 for Irecv(source=3, tag=0) at ring.py:38`.

    stuck: sequences of those calls that cannot complete, which are named before others.
    """
    verb = "polls with" if need.is_poll else "waits in"
    if need.calls == (need.call,):
        return f"{verb} {signature_of(need.call)}{_of_lower_case(need.call)}{at(need.call)}"
    if need.call.function in BLOCKING_EXCHANGES:
        halves = sorted(need.calls, key=lambda call: not call.is_send)
        return f"{verb} {' and '.join(map(signature_of, halves))}{at(need.call)}"
    # A send may have been buffered, a receive without a message surely hangs: name that first.
    calls = sorted(need.calls, key=lambda call: (call.sequence not in stuck, call.is_send))
    named = [_named(call, need.call) for call in calls[:_MOST_REQUESTS]]
    link = " and " if need.all_needed else " or "
    more = f"{link}{len(calls) - _MOST_REQUESTS} more" if len(calls) > _MOST_REQUESTS else ""
    waited = f" for {link.join(named)}{more}" if named else ""
    return f"{verb} {name_of(need.call)}{at(need.call)}{waited}"


def _named(call: Call, wait: Call) -> str:
    same_place = place_of(call) in ("", place_of(wait))
    return signature_of(call) + ("" if same_place else f" at {place_of(call)}")


def _of_lower_case(call: Call) -> str:
    return {
        "Mprobe": " (called by a lower-case recv)",
        "Comm_dup": " (called by comm.Dup, and by the first comm.allreduce or comm.reduce)",
    }.get(call.function, "")


def shortest_cycle(edges: Mapping[int, frozenset[int]]) -> list[int]:
    """Return the ranks of a shortest cycle, from its lowest on; empty if there is none."""
    best: list[int] = []
    for start in sorted(edges):
        cycle = _cycle_through(start, edges)
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
    return best


def cycle_text(cycle: list[int]) -> str:
    """Return `cycle 0 -> 1 -> 2 -> 0`; the middle of a long one is left out."""
    shown = [str(rank) for rank in cycle]
    if len(shown) > _MOST_SHOWN:
        shown[_MOST_SHOWN // 2 : -1] = ["..."]
    return f"cycle {' -> '.join([*shown, str(cycle[0])])}"


def _cycle_through(start: int, edges: Mapping[int, frozenset[int]]) -> list[int]:
    """Return a shortest way from `start` back to it, by breadth-first search."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        rank = queue.popleft()
        for following in sorted(edges.get(rank, frozenset())):
            if following == start:
                way = [rank]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if following not in came_from:
                came_from[following] = rank
                queue.append(following)
    return []


def place_notes(situation: StalledRun) -> tuple[PlaceNote, ...]:
    """Return one note for each line and what is done there, in the order of the lines."""
    found: dict[tuple[str, str], dict[tuple[int, str], None]] = {}
    for place, doing, rank, link in _all(situation):
        if place:
            found.setdefault((place, doing), {})[rank, link] = None
    ordered = sorted(found.items(), key=lambda item: _file_and_line(item[0][0]))
    return tuple(PlaceNote(place, _text(doing, links)) for (place, doing), links in ordered)


def _all(situation: StalledRun) -> Iterator[tuple[str, str, int, str]]:
    """Yield (place, what is done there, rank, with whom)."""
    stuck = {(rank, call.sequence) for rank, call in situation.all_stuck_calls()}
    for rank, needs in sorted(situation.needs.items()):
        for need in needs:
            calls = [each for each in need.calls if (rank, each.sequence) in stuck]
            for call in calls:
                if call.is_send or call.is_receive:
                    yield place_of(call), *_message(rank, call)
                elif is_collective(call):
                    yield place_of(call), _WAITS, rank, ""
            if need.call not in calls:
                yield place_of(need.call), _STANDS, rank, ""
    for message in situation.matches.unreceived:
        yield place_of(message.call), *_message(message.rank, message.call)


def _message(rank: int, call: Call) -> tuple[str, int, str]:
    if call.is_send:
        return _SENDS, rank, f"to {call.peer}"
    return _RECEIVES, rank, "from any" if call.peer == ANY_SOURCE else f"from {call.peer}"


def _text(doing: str, links: Iterable[tuple[int, str]]) -> str:
    """Return `sends: rank 0 to 1, 1 to 2` or `never returns: ranks 0 and 1`."""
    if doing in (_WAITS, _STANDS):
        return f"{doing}: {ranks_text(rank for rank, _ in links)}"
    pairs = [f"{rank} {link}" for rank, link in sorted(links)]
    more = ", ..." if len(pairs) > _MOST_PAIRS else ""
    return f"{doing}: rank {', '.join(pairs[:_MOST_PAIRS])}{more}"


def _file_and_line(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return file, int(line)
