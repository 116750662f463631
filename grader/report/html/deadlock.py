"""Draws a deadlock: who waits for whom, where, and what arrived last."""

from grader.evidence import Deadlock, Evidence, Message, WaitingRank
from grader.report.html.circle import Circle
from grader.report.html.communication import bytes_text
from grader.report.html.markup import Markup, beside_table, element, figure, table

_MOST_RANKS = 32


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
        children.insert(1, _key(last))
    return figure("The deadlock: who waits for whom", *children, _table(found))


def _picture(found: Deadlock, num_ranks: int, last: Message | None, told: str) -> Markup:
    circle = Circle(tuple(range(num_ranks)))
    cycle = set(zip(found.cycle, (*found.cycle[1:], *found.cycle[:1]), strict=True))
    waits = [
        (each.rank, other)
        for each in found.waiting
        for other in each.waits_for
        if other in circle.ranks and other != each.rank
    ]
    arrows = [
        circle.arrow(*pair, "cycle" if pair in cycle else "waits", 4 if pair in cycle else 2)
        for pair in sorted(waits, key=lambda pair: pair in cycle)
    ]
    if last is not None:
        arrows.append(circle.arrow(last.source, last.destination, "last"))
    places = {each.rank: _where(each) for each in found.waiting}
    nodes = [
        circle.node(
            rank,
            places.get(rank, "returned" if rank in found.gone else ""),
            is_gone=rank in found.gone,
        )
        for rank in circle.ranks
    ]
    return circle.picture(f"Who waits for whom. {told}", *arrows, *nodes)


def _where(found: WaitingRank) -> str:
    _, _, line = found.place.rpartition(":")
    return f"{found.call}, line {line}" if line else found.call


def _key(last: Message | None) -> Markup:
    lines = ["thick: the cycle", "dashed: waits for, outside of the cycle"]
    lines += ["dotted: the last message that arrived"] if last is not None else []
    return element(
        "p", f"{'; '.join(lines)}; a dashed circle: a rank that returned", class_="faint"
    )


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
