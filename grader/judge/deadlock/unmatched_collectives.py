"""Why collective calls do not come about: ranks that stay away, or call something else."""

from collections import defaultdict
from collections.abc import Iterator

from grader.trace.call_formatting import (
    at,
    listed,
    name_of,
    ranks_have,
    ranks_text,
    signature_of,
)
from grader.trace.calls import Call
from grader.trace.collectives import Gathering, is_collective
from grader.trace.wait_for_graph import StalledRun

_MOST_ITEMS = 3


def ungathered(situation: StalledRun) -> Iterator[str]:
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
        texts.append(f"{ranks_have(ranks)} {how}")
    if not gathering.number:
        return listed(texts)
    number = gathering.number + 1
    return (
        f"this {name_of(call)} is collective call number {number} on its communicator, but "
        f"{listed(texts)}"
    )
