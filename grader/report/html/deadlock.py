"""Draws a deadlock: who waits for whom, where, and what arrived last."""

from grader.evidence import Deadlock, Evidence, Message, WaitingRank
from grader.report.html.circle import Circle
from grader.report.html.communication import bytes_text
from grader.report.html.markup import Markup, beside_table, element, figure, table

_MOST_RANKS = 32
_BEND_OF_LAST = 0.3
"""More than that of an arrow of who waits, which may go the same way."""


def deadlock(evidence: Evidence) -> Markup | None:
    """Return the ranks on a circle with arrows to those they wait for; None for no deadlock."""
    found = evidence.deadlock
    if found is None:
        return None
    last = max(evidence.timeline.messages, key=lambda each: each.received_ms, default=None)
    told = _cycle_text(found)
    children = [element("p", told, class_="message"), element("p", _last_text(last, evidence))]
    if evidence.num_ranks <= _MOST_RANKS:
        children.insert(0, _picture(found, evidence.num_ranks, last, told))
        children.insert(1, _key(found, evidence.num_ranks, last))
    return figure("The deadlock: who waits for whom", *children, _table(found))


def _picture(found: Deadlock, num_ranks: int, last: Message | None, told: str) -> Markup:
    circle = Circle(tuple(range(num_ranks)))
    arrows = [
        *(circle.arrow(*pair, "waits") for pair in _waits_outside_of_the_cycle(found, num_ranks)),
        *(circle.arrow(*pair, "cycle", 4) for pair in _pairs_of_the_cycle(found)),
    ]
    if last is not None:
        arrows.append(circle.arrow(last.source, last.destination, "last", bend=_BEND_OF_LAST))
    notes = {rank: ("returned",) for rank in found.gone} | {
        each.rank: _where(each) for each in found.waiting
    }
    nodes = [
        circle.node(rank, *notes.get(rank, ()), is_gone=rank in found.gone) for rank in circle.ranks
    ]
    return circle.picture(f"Who waits for whom. {told}", *arrows, *nodes)


def _pairs_of_the_cycle(found: Deadlock) -> list[tuple[int, int]]:
    return list(zip(found.cycle, (*found.cycle[1:], *found.cycle[:1]), strict=True))


def _waits_outside_of_the_cycle(found: Deadlock, num_ranks: int) -> list[tuple[int, int]]:
    cycle = _pairs_of_the_cycle(found)
    return [
        (each.rank, other)
        for each in found.waiting
        for other in each.waits_for
        if other in range(num_ranks) and (each.rank, other) not in cycle
    ]


def _where(found: WaitingRank) -> tuple[str, ...]:
    _, _, line = found.place.rpartition(":")
    return (found.call, f"line {line}") if line else (found.call,)


def _key(found: Deadlock, num_ranks: int, last: Message | None) -> Markup:
    """Return what the signs mean that the picture has."""
    outside = ", outside of the cycle" if found.cycle else ""
    signs = {
        "thick: the cycle": bool(found.cycle),
        f"dashed: waits for{outside}": bool(_waits_outside_of_the_cycle(found, num_ranks)),
        "dotted: the last message that arrived": last is not None,
        "a dashed circle: a rank that returned": bool(found.gone),
    }
    told = "; ".join(sign for sign, is_there in signs.items() if is_there)
    return element("p", told, class_="faint")


def _cycle_text(found: Deadlock) -> str:
    if not found.cycle:
        return "No cycle: a rank waits for what can no longer come."
    if len(found.cycle) == 1:
        return f"Rank {found.cycle[0]} waits for itself, so it never goes on."
    ranks = " → ".join(map(str, (*found.cycle, found.cycle[0])))
    return f"Cycle: {ranks}. Each waits for the next, so none goes on."


def _last_text(last: Message | None, evidence: Evidence) -> str:
    if last is None:
        num_left_out = evidence.timeline.num_messages_left_out
        if num_left_out:
            messages = "1 message" if num_left_out == 1 else f"{num_left_out} messages"
            return (
                f"{messages} between ranks had arrived, all of them before the first call that "
                "is shown here."
            )
        return "No message between ranks is known to have arrived in this case."
    where = f", received at {last.received_at}" if last.received_at else ""
    return (
        f"The last exchange that was completed: rank {last.source} to rank {last.destination}, "
        f"{bytes_text(last.num_bytes)}, tag {last.tag}{where}, {last.received_ms:.3f} ms after the "
        "first call."
    )


def _table(found: Deadlock) -> Markup:
    rows: list[tuple[str | None, ...]] = [
        (
            f"rank {each.rank}",
            each.text,
            each.place or "not known",
            ", ".join(map(str, each.waits_for)) or "nobody in particular",
        )
        for each in found.waiting
    ]
    rows += [(f"rank {rank}", "has already returned", "", "") for rank in found.gone]
    content = table("What each rank waits for", ("rank", "call", "line", "waits for"), [*rows])
    return beside_table("The same as a table", content)
