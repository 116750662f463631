"""Puts ranks on a circle and draws curved arrows between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.html.markup import Child, Markup, element

_WIDTH, _HEIGHT, _MARGIN = 360, 330, 48
_HEIGHT_OF_TWO = 140
_LABEL_ASIDE = 12
"""How far beside the middle of its arrow a label is."""
_FEWEST_BIG = 12
"""From so many ranks on, the circles are small."""


@dataclass(frozen=True)
class Circle:
    """Ranks in the order in which they stand around the circle, the first at the top."""

    ranks: tuple[int, ...]

    @property
    def _height(self) -> float:
        return _HEIGHT if len(self.ranks) > 2 else _HEIGHT_OF_TWO

    @property
    def radius(self) -> float:
        """Return the radius of one rank's circle."""
        return 18 if len(self.ranks) < _FEWEST_BIG else 11

    def centre(self, rank: int) -> tuple[float, float]:
        """Return where a rank is drawn."""
        angle = 2 * math.pi * self.ranks.index(rank) / len(self.ranks) - math.pi / 2
        if len(self.ranks) == 2:
            angle -= math.pi / 2
        wide, high = _WIDTH / 2 - _MARGIN, self._height / 2 - _MARGIN
        return _WIDTH / 2 + wide * math.cos(angle), self._height / 2 + high * math.sin(angle)

    def node(self, rank: int, note: str = "", *, is_gone: bool = False) -> Markup:
        """Return a rank with its number, and a few words below or, in the upper half, above it."""
        x, y = self.centre(rank)
        below = self.radius + 13 if y > self._height / 2 - 1 else -self.radius - 7
        name = f"node{' gone' if is_gone else ''}"
        return element(
            "g",
            element("circle", cx=x, cy=y, r=self.radius, class_=name),
            element("text", str(rank), x=x, y=y + 4, class_="name"),
            element("text", note, x=x, y=y + below, class_="small middle") if note else None,
        )

    def arrow(
        self, source: int, destination: int, kind: str, width: float = 2, label: str = ""
    ) -> Markup:
        """Return an arrow, bent to its left so that two that are opposite do not meet."""
        (x0, y0), (x1, y1) = self.centre(source), self.centre(destination)
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        along, across = ((x1 - x0) / length, (y1 - y0) / length), 0.12 * length
        bend_x = (x0 + x1) / 2 + along[1] * across
        bend_y = (y0 + y1) / 2 - along[0] * across
        start = _towards((x0, y0), (bend_x, bend_y), self.radius + 2)
        end = _towards((x1, y1), (bend_x, bend_y), self.radius + 5 + width)
        path = f"M{start[0]:.1f} {start[1]:.1f}Q{bend_x:.1f} {bend_y:.1f} {end[0]:.1f} {end[1]:.1f}"
        drawn = element(
            "path",
            d=path,
            class_=f"edge {kind}",
            stroke_width=width,
            marker_end=f"url(#tip-{kind.split()[0]})",
        )
        if not label:
            return drawn
        aside = along[1] * _LABEL_ASIDE, -along[0] * _LABEL_ASIDE
        x, y = (x0 + x1) / 4 + bend_x / 2 + aside[0], (y0 + y1) / 4 + bend_y / 2 + aside[1]
        is_beside = abs(aside[0]) > _LABEL_ASIDE / 2
        anchor = ("start" if aside[0] > 0 else "end") if is_beside else "middle"
        told = element("text", label, x=x, y=y + 4, class_="small", text_anchor=anchor)
        return element("g", drawn, told)

    def picture(self, label: str, *children: Child) -> Markup:
        """Return the drawing; label: what it shows, for who does not see it."""
        return element(
            "svg",
            element("title", label),
            *children,
            viewBox=f"0 0 {_WIDTH} {self._height}",
            class_="ring",
            role="img",
        )


def tips() -> Markup:
    """Return the heads of arrows of each kind, which pictures of the page refer to."""
    return element(
        "svg",
        element("defs", *map(_tip, ("send", "cycle", "waits", "last", "arrow"))),
        width=0,
        height=0,
        aria_hidden="true",
    )


def _tip(kind: str) -> Markup:
    return element(
        "marker",
        element("path", d="M0 0L10 5L0 10Z", class_=f"tip-{kind}"),
        id=f"tip-{kind}",
        viewBox="0 0 10 10",
        refX=8,
        refY=5,
        markerWidth=9,
        markerHeight=9,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )


def _towards(
    start: tuple[float, float], target: tuple[float, float], distance: float
) -> tuple[float, float]:
    length = math.dist(start, target) or 1.0
    return tuple(a + (b - a) * distance / length for a, b in zip(start, target, strict=True))  # type: ignore[return-value]


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
