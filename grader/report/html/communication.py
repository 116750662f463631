"""Draws who has sent how much to whom."""

import math

from grader.evidence import Edge, Evidence
from grader.report.html.circle import Circle, ring_of
from grader.report.html.markup import Markup, beside_table, element, figure, table

_MOST_RANKS = 32
_MOST_LABELS = 8
_WIDEST = 6.0
_MOST_INK = 60.0
"""Of all arrows together, as widths: where every rank sends to every other, thin ones are seen."""


def communication(evidence: Evidence) -> Markup | None:
    """Return the ranks on a circle with arrows as wide as what was sent; None for no message."""
    edges = [each for each in evidence.edges if each.num_messages]
    if not edges or evidence.num_ranks > _MOST_RANKS:
        return _table(edges) if edges else None
    pairs = [(each.source, each.destination) for each in edges]
    ring = ring_of(pairs)
    is_whole = len(ring) == evidence.num_ranks
    circle = Circle(ring if is_whole else tuple(range(evidence.num_ranks)))
    most = max(each.num_bytes for each in edges) or 1
    widest = min(_WIDEST, _MOST_INK / len(edges))
    has_room = len(edges) <= _MOST_LABELS and (
        evidence.num_ranks == 2 or not {pair[::-1] for pair in pairs} & {*pairs}
    )
    arrows = [
        circle.arrow(
            each.source,
            each.destination,
            "send",
            max(1.0, widest * math.sqrt(each.num_bytes / most)),
            bytes_text(each.num_bytes) if has_room else "",
        )
        for each in edges
    ]
    shape = _shape(ring, evidence.num_ranks, len(edges))
    total = bytes_text(sum(each.num_bytes for each in edges))
    messages = sum(each.num_messages for each in edges)
    drawn = circle.picture(
        f"Who sent to whom. {shape}", *arrows, *(circle.node(rank) for rank in circle.ranks)
    )
    note = element("p", f"{shape} Messages: {messages}, {total} in all. Wider is more bytes.")
    return figure("Who sent how much to whom", drawn, note, _table(edges))


def bytes_text(num_bytes: int) -> str:
    """Return `96 B`, `1.9 kB`, `4.2 MB`."""
    if num_bytes < 1000:
        return f"{num_bytes} B"
    # By what is left of it in three digits: 999,999 bytes are a megabyte.
    power = min(int(math.log10(float(f"{num_bytes:.3g}")) // 3), 4)
    return f"{num_bytes / 1000**power:.3g} {'kMGT'[power - 1]}B"


def _shape(ring: tuple[int, ...], num_ranks: int, num_edges: int) -> str:
    if len(ring) == num_ranks:
        return f"A ring: {' → '.join(map(str, [*ring, ring[0]]))}."
    if num_edges == num_ranks * (num_ranks - 1):
        return "Every rank sends to every other one."
    return f"{num_edges} of {num_ranks * (num_ranks - 1)} possible pairs."


def _table(edges: list[Edge]) -> Markup:
    rows: list[tuple[str | None, ...]] = [
        (
            f"rank {each.source}",
            f"rank {each.destination}",
            str(each.num_messages),
            f"{each.num_bytes}",
        )
        for each in edges
    ]
    content = table(
        "Messages by pair of ranks, whether or not they have arrived",
        ("from", "to", "messages", "bytes"),
        [*rows],
    )
    return beside_table("The same as a table", content)
