"""Says who waits for whom in a run that hangs, and why nothing can come of it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from grader.judge.collectives import Gathering, is_collective
from grader.judge.cycles import cycle_text, shortest_cycle
from grader.judge.matching import Posted
from grader.judge.needs import Need, need_text
from grader.judge.situation import PROBES, Situation
from grader.judge.wording import at, listed, name_of, place_of, ranks_text, signature_of, tag_text
from grader.trace.calls import ANY_SOURCE, Call

_MOST_RANKS = 6
_MOST_ITEMS = 3
_SYNCHRONOUS_BY_NAME = frozenset({"Ssend", "Issend", "Ssend_init"})


def sentence(situation: Situation) -> str:
    """Return one sentence: every waiting rank with its call, peer, tag and line; then the reason."""
    clauses = [*_ranks(situation), *_gone(situation), *_gatherings(situation)]
    clauses += _messages(situation)
    edges = {rank: situation.waits_for(rank) for rank in situation.needs}
    cycle = shortest_cycle(edges)
    between_two = (call for rank in cycle for call in situation.stuck_calls(rank))
    if any(not is_collective(call) and call.function != "Finalize" for call in between_two):
        clauses.append(cycle_text(cycle))
    return f"deadlock: {'; '.join(clauses)}"


def _ranks(situation: Situation) -> list[str]:
    """Return what each rank waits in; of many, one of those that wait at the same place."""
    alike: dict[object, list[int]] = defaultdict(list)
    many = len(situation.needs) > _MOST_RANKS
    for rank, needs in sorted(situation.needs.items()):
        places = tuple((need.call.function, place_of(need.call)) for need in needs)
        alike[places if many else rank].append(rank)
    clauses = []
    for ranks in list(alike.values())[:_MOST_RANKS]:
        first, *others = ranks
        likewise = f" ({ranks_text(others)} likewise)" if others else ""
        clauses.append(f"rank {first} {_needs_text(situation, first)}{likewise}")
    left = [rank for ranks in list(alike.values())[_MOST_RANKS:] for rank in ranks]
    return [*clauses, f"{ranks_text(left)} {_do('waits', left)} elsewhere"] if left else clauses


def _needs_text(situation: Situation, rank: int) -> str:
    stuck = frozenset(call.sequence for call in situation.stuck_calls(rank))
    needs: Sequence[Need] = situation.needs[rank]
    texts = [need_text(need, stuck) for need in needs[:_MOST_ITEMS]]
    return " and ".join(texts) + (" and more" if len(needs) > _MOST_ITEMS else "")


def _gone(situation: Situation) -> Iterator[str]:
    """Yield which ranks that somebody waits for will make no call any more."""
    waited: set[int] = set()
    unfinished: set[int] = set()
    for rank in situation.needs:
        for call in situation.stuck_calls(rank):
            waited |= situation.gone if call.peer == ANY_SOURCE else situation.targets(rank, call)
            if call.function == "Finalize":
                unfinished |= situation.not_finalizing(rank) & situation.gone
            for receive in situation.matches.partners.get((rank, call.sequence), []):
                waited.discard(receive.rank)
                yield (
                    f"rank {receive.rank} has already returned without waiting for its "
                    f"{signature_of(receive.call)}{at(receive.call)}"
                )
    finalised = {rank for rank in situation.gone if situation.trace.ranks[rank].finalised}
    returned = (waited & situation.gone) - finalised - unfinished
    if unfinished:
        has = _do("has", unfinished)
        yield f"{ranks_text(unfinished)} {has} already returned without calling Finalize"
    if returned:
        yield f"{ranks_text(returned)} {_do('has', returned)} already returned"
    if waited & finalised:
        ranks = waited & finalised
        yield f"{ranks_text(ranks)} {_do('has', ranks)} already left MPI by Finalize"


def _gatherings(situation: Situation) -> Iterator[str]:
    """Yield for each communicator why the first collective call that hangs on it does."""
    first: dict[int, tuple[Gathering, Call]] = {}
    for rank in sorted(situation.needs):
        for call in situation.stuck_calls(rank):
            gathering = situation.gatherings.of(rank, call) if is_collective(call) else None
            if gathering is None:
                continue
            known = first.get(call.communicator)
            if known is None or gathering.number < known[0].number:
                first[call.communicator] = gathering, call
    for communicator in sorted(first):
        gathering, call = first[communicator]
        if not gathering.agrees:
            yield _disagreement(gathering)
        if gathering.missing:
            yield _absence(gathering, call)
        if gathering.num_unknown:
            yield (
                f"only {len(gathering.calls)} of the {call.communicator_size} ranks of the "
                f"communicator have called {name_of(call)}"
            )


def _disagreement(gathering: Gathering) -> str:
    by_call: dict[str, list[int]] = defaultdict(list)
    for rank, call in sorted(gathering.calls.items()):
        by_call[signature_of(call) + (f"{at(call)}, and left it" if call.left_ns else "")].append(
            rank
        )
    texts = [f"{ranks_text(ranks)} called {call}" for call, ranks in by_call.items()]
    number = gathering.number + 1
    return f"{listed(texts)}, each as collective call number {number} on the communicator"


def _absence(gathering: Gathering, call: Call) -> str:
    by_number: dict[int, list[int]] = defaultdict(list)
    for rank, number in sorted(gathering.num_made.items()):
        by_number[number].append(rank)
    texts = [
        f"{ranks_text(ranks)} {_do('has', ranks)} made only {number}"
        for number, ranks in sorted(by_number.items())[:_MOST_ITEMS]
    ]
    if not gathering.number:
        return f"{ranks_text(gathering.missing)} {_do('has', gathering.missing)} not called {name_of(call)}"
    return (
        f"{name_of(call)} is collective call number {gathering.number + 1} on the communicator, "
        f"but {listed(texts)}"
    )


def _messages(situation: Situation) -> Iterator[str]:
    """Yield why receives get no message and sends find no receive."""
    stuck = [
        (rank, call) for rank in sorted(situation.needs) for call in situation.stuck_calls(rank)
    ]
    receives = [(r, call) for r, call in stuck if call.is_receive or call.function in PROBES]
    sends = [(r, call) for r, call in stuck if call.is_send]
    misses: dict[tuple[int, int], str] = {}
    for rank, call in receives:
        for message in situation.matches.unreceived:
            if message.call.peer == rank:
                misses.setdefault((message.rank, rank), _miss(rank, call, message))
    for rank, call in sends:
        for receive in situation.matches.unserved:
            if receive.rank == call.peer:
                miss = _miss(receive.rank, receive.call, Posted(rank, call))
                misses.setdefault((rank, receive.rank), miss)
    yield from list(misses.values())[:_MOST_ITEMS]
    if receives and not misses:
        yield _pending(situation.matches.unreceived)
    elif (
        sends
        and not misses
        and not all(situation.matches.partners.get((r, c.sequence)) for r, c in sends)
    ):
        yield "no matching receive is posted"
    if any(call.function not in _SYNCHRONOUS_BY_NAME for _, call in sends):
        yield "a send may wait until its receive is posted, and here it does"


def _miss(rank: int, receive: Call, message: Posted) -> str:
    """Return why `rank` does not take a message that is on its way to it."""
    sent = f"rank {message.rank} sends rank {rank}"
    if receive.communicator != message.call.communicator:
        return f"{sent} a message{at(message.call)} over another communicator than it waits on"
    if receive.peer not in (ANY_SOURCE, message.rank):
        return f"{sent} a message{at(message.call)}, but it waits for one from rank {receive.peer}"
    return (
        f"{sent} tag {tag_text(message.call.tag)}{at(message.call)}, but it waits for tag "
        f"{tag_text(receive.tag)}"
    )


def _pending(messages: Sequence[Posted]) -> str:
    if not messages:
        return "no send is pending"
    shown = [f"rank {m.rank} {signature_of(m.call)}{at(m.call)}" for m in messages[:_MOST_ITEMS]]
    more = len(messages) - len(shown)
    return f"the pending sends are {', '.join(shown)}{f' and {more} more' if more else ''}"


def _do(verb: str, ranks: Sequence[int] | set[int] | frozenset[int]) -> str:
    plural = {"waits": "wait", "has": "have"}[verb]
    return verb if len(ranks) == 1 else plural
