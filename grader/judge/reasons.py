"""Says who waits for whom in a run that hangs, and why nothing can come of it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from grader.judge.collectives import Gathering, is_collective
from grader.judge.cycles import cycle_text, shortest_cycle
from grader.judge.needs import Need, need_text
from grader.judge.situation import Situation
from grader.judge.undelivered import undelivered
from grader.judge.wording import at, listed, name_of, place_of, ranks_text, signature_of
from grader.trace.calls import ANY_SOURCE, Call

_MOST_RANKS = 6
_MOST_ITEMS = 3


def sentence(situation: Situation) -> str:
    """Return every waiting rank with its call, peer, tag and line, and then the reason."""
    clauses = [
        *_ranks(situation),
        *_gone(situation),
        *_gatherings(situation),
        *undelivered(situation),
        *_cycle(situation),
    ]
    return f"deadlock: {'; '.join(clauses)}"


def _ranks(situation: Situation) -> Iterator[str]:
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


def _needs_text(situation: Situation, rank: int) -> str:
    stuck = frozenset(call.sequence for call in situation.stuck_calls(rank))
    needs: Sequence[Need] = situation.needs[rank]
    texts = [need_text(need, stuck) for need in needs[:_MOST_ITEMS]]
    return " and ".join(texts) + (" and more" if len(needs) > _MOST_ITEMS else "")


def _gone(situation: Situation) -> Iterator[str]:
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
        yield f"rank {rank} has already returned without waiting for its {posted}"
    if unfinished:
        yield f"{_have(unfinished)} already returned without calling Finalize"
    if returned:
        yield f"{_have(returned)} already returned"
    if waited & finalised - set(half_done):
        yield f"{_have(waited & finalised - set(half_done))} already left MPI by Finalize"


def _gatherings(situation: Situation) -> Iterator[str]:
    """Yield for each communicator why the first collective call that hangs on it does."""
    first: dict[int, tuple[Gathering, Call]] = {}
    for rank, call in situation.all_stuck_calls():
        gathering = situation.gatherings.of(rank, call) if is_collective(call) else None
        if gathering is None:
            continue
        known = first.get(call.communicator)
        if known is None or gathering.number < known[0].number:
            first[call.communicator] = gathering, call
    for communicator in sorted(first)[:_MOST_ITEMS]:
        gathering, call = first[communicator]
        if not gathering.agrees:
            yield _disagreement(gathering)
        if gathering.missing:
            yield _absence(gathering, call, situation.gone)
        if gathering.num_unknown:
            yield (
                f"only {len(gathering.calls)} of the {call.communicator_size} ranks of the "
                f"communicator have called {name_of(call)}"
            )


def _disagreement(gathering: Gathering) -> str:
    by_call: dict[str, list[int]] = defaultdict(list)
    for rank, call in sorted(gathering.calls.items()):
        left = f"{at(call)}, which it has left" if call.left_ns else ""
        by_call[signature_of(call) + left].append(rank)
    texts: list[str] = []
    for call_text, ranks in list(by_call.items())[:_MOST_ITEMS]:
        verb = "" if texts else " is" if len(ranks) == 1 else " are"
        texts.append(f"{ranks_text(ranks)}{verb} in {call_text}")
    return ", ".join(texts)


def _absence(gathering: Gathering, call: Call, gone: frozenset[int]) -> str:
    by_state: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for rank, number in sorted(gathering.num_made.items()):
        by_state[number, rank in gone].append(rank)
    texts = []
    for (number, is_gone), ranks in list(by_state.items())[:_MOST_ITEMS]:
        if gathering.number:
            how = f"returned after {number}" if is_gone else f"made only {number}"
        else:
            how = ("returned without calling" if is_gone else "not called") + f" {name_of(call)}"
        texts.append(f"{_have(ranks)} {how}")
    if not gathering.number:
        return listed(texts)
    number = gathering.number + 1
    return (
        f"this {name_of(call)} is collective call number {number} on its communicator, but "
        f"{listed(texts)}"
    )


def _cycle(situation: Situation) -> Iterator[str]:
    """Yield the shortest cycle of ranks that wait for each other, if messages are part of it."""
    edges = {rank: situation.waits_for(rank) for rank in situation.needs}
    cycle = shortest_cycle(edges)
    stuck = [call for rank in cycle for call in situation.stuck_calls(rank)]
    if any(not is_collective(call) and call.function != "Finalize" for call in stuck):
        yield cycle_text(cycle)


def _have(ranks: Collection[int]) -> str:
    return f"{ranks_text(ranks)} {'has' if len(ranks) == 1 else 'have'}"
