"""Draws who sent how much to whom."""

import math
from collections.abc import Sequence

from grader.model.evidence import Edge, Evidence
from grader.report.html.rank_layout import Circle, Picture

MOST_RANKS = 32
"""Of more ranks there is no drawing."""
_MOST_LABELS = 8
_WIDEST, _MOST_INK = 6.0, 60.0
"""Widths of one arrow and of all: where every rank sends to every other, thin ones are seen."""


def sending(evidence: Evidence) -> Picture | None:
    """Return the ranks with arrows as wide as what was sent; None for none or too many ranks."""
    edges, num_ranks = edges_of(evidence), evidence.num_ranks
    if not edges or num_ranks > MOST_RANKS:
        return None
    pairs = [(each.source, each.destination) for each in edges]
    ring = ring_of(pairs)
    is_ring = len(ring) == num_ranks
    circle = Circle(ring if is_ring else tuple(range(num_ranks)))
    most = max(each.num_bytes for each in edges) or 1
    widest = min(_WIDEST, _MOST_INK / len(edges))
    has_room = num_ranks == 2 or not {pair[::-1] for pair in pairs} & {*pairs}
    has_labels = len(edges) <= _MOST_LABELS and has_room
    arrows = [
        circle.arrow(
            each.source,
            each.destination,
            "send",
            max(1.0, widest * math.sqrt(each.num_bytes / most)),
            bytes_text(each.num_bytes) if has_labels else "",
        )
        for each in edges
    ]
    most_pairs = num_ranks * (num_ranks - 1)
    told = f"{len(edges)} of {most_pairs} possible pairs."
    if is_ring:
        told = f"A ring: {' → '.join(map(str, [*ring, ring[0]]))}."
    elif len(edges) == most_pairs:
        told = "Every rank sends to every other one."
    return Picture(told, circle, arrows)


def edges_of(evidence: Evidence) -> list[Edge]:
    """Return the pairs of ranks of which one sent to the other."""
    return [each for each in evidence.edges if each.num_messages]


def bytes_text(num_bytes: int) -> str:
    """Return `96 B`, `1.9 kB`, `4.2 MB`."""
    if num_bytes < 1000:
        return f"{num_bytes} B"
    # By what is left of it in three digits: 999,999 bytes are a megabyte.
    power = min(int(math.log10(float(f"{num_bytes:.3g}")) // 3), 4)
    return f"{num_bytes / 1000**power:.3g} {'kMGT'[power - 1]}B"


def ring_of(edges: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the ranks of a ring in its order, from its lowest; empty where it is none.

    In a ring, each rank sends to one other rank, and all of them are one cycle.
    """
    following = dict(edges)
    if len(following) != len(edges) or len(edges) < 3:
        return ()
    ring = [min(following)]
    while following.get(ring[-1], ring[0]) not in ring:
        ring.append(following[ring[-1]])
    closes = following.get(ring[-1]) == ring[0]
    return tuple(ring) if closes and len(ring) == len(following) else ()
