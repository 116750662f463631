"""Says of each line that takes part in a deadlock what it does there, for all ranks together."""

from collections.abc import Iterable, Iterator

from grader.model.evidence import PlaceNote
from grader.trace.call_formatting import place_of, ranks_text
from grader.trace.calls import ANY_SOURCE, Call
from grader.trace.collectives import is_collective
from grader.trace.wait_for_graph import StalledRun

_MOST_PAIRS = 4
_RECEIVES, _SENDS, _WAITS, _STANDS = "receives", "sends", "waits", "never returns"


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
