"""Draws a deadlock: who waits for whom, where, and what arrived last."""

from grader.model.evidence import Deadlock, Evidence, Message
from grader.report.html.communication import MOST_RANKS, bytes_text
from grader.report.html.rank_layout import Circle, Picture

_BEND_OF_LAST = 0.3
"""More than that of an arrow of who waits, which may go the same way."""


def waiting(evidence: Evidence) -> Picture | None:
    """Return the ranks with arrows to those they wait for; None for too many or no deadlock."""
    found, num_ranks = evidence.deadlock, evidence.num_ranks
    if found is None or num_ranks > MOST_RANKS:
        return None
    circle = Circle(tuple(range(num_ranks)))
    cycle = list(zip(found.cycle, (*found.cycle[1:], *found.cycle[:1]), strict=True))
    waits = [(each.rank, other) for each in found.waiting for other in each.waits_for]
    outside = [pair for pair in waits if pair[1] in circle.ranks and pair not in cycle]
    arrows = [circle.arrow(*pair, "waits") for pair in outside]
    arrows += [circle.arrow(*pair, "cycle", 4) for pair in cycle]
    last = _last(evidence)
    if last is not None:
        arrows.append(circle.arrow(last.source, last.destination, "last", bend=_BEND_OF_LAST))
    notes = {rank: ["returned"] for rank in found.gone}
    for each in found.waiting:
        _, _, line = each.place.rpartition(":")
        notes[each.rank] = [each.call, f"line {line}"] if line else [each.call]
    return Picture(cycle_text(found), circle, arrows, notes, found.gone)


def _last(evidence: Evidence) -> Message | None:
    return max(evidence.timeline.messages, key=lambda each: each.received_ms, default=None)


def key_text(picture: Picture) -> str:
    """Return what the signs mean that the picture of a deadlock has."""
    kinds = {each.kind for each in picture.arrows}
    outside = ", outside of the cycle" if "cycle" in kinds else ""
    signs = {
        "thick: the cycle": "cycle" in kinds,
        f"dashed: waits for{outside}": "waits" in kinds,
        "dotted: the last message that arrived": "last" in kinds,
        "a dashed circle: a rank that returned": picture.gone,
    }
    return "; ".join(sign for sign, is_there in signs.items() if is_there)


def cycle_text(found: Deadlock) -> str:
    """Return who waits for whom in a cycle."""
    if not found.cycle:
        return "No cycle: a rank waits for something that can no longer come."
    if len(found.cycle) == 1:
        return f"Rank {found.cycle[0]} waits for itself, so it cannot continue."
    ranks = " → ".join(map(str, (*found.cycle, found.cycle[0])))
    return f"Cycle: {ranks}. Each waits for the next, so none can continue."


def last_text(evidence: Evidence) -> str:
    """Return what arrived last before all ranks waited."""
    last, num_left_out = _last(evidence), evidence.timeline.num_messages_left_out
    if last is not None:
        where = f", received at {last.received_at}" if last.received_at else ""
        return (
            f"The last completed exchange: rank {last.source} to rank {last.destination}, "
            f"{bytes_text(last.num_bytes)}, tag {last.tag}{where}, {last.received_ms:.3f} ms "
            "after the first call."
        )
    if not num_left_out:
        return "No message between ranks is known to have arrived in this case."
    messages = f"{num_left_out} message{'' if num_left_out == 1 else 's'} between ranks"
    return f"{messages} had arrived, all before the first call shown here."
