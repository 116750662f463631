"""Puts ranks on a circle and draws curved arrows between them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.report.html.markup import Child, Markup, element

_WIDE, _HIGH = 84, 92
"""Half axes of the ellipse on which a few ranks stand."""
_BESIDE, _ABOVE = 100, 42
"""Room for a few words at the outermost ranks."""
_AROUND = 26
"""Room where there are none."""
_TIP = 10
"""How long the head of an arrow is."""
_USUAL_BEND, _LABEL_ASIDE = 0.12, 15
_IN_THE_MIDDLE = 40
"""A rank that is nearer to an axis of the ellipse is at one of its ends."""
_LINE = 14
"""How far beside the middle of its arrow a label is."""
_FEWEST_BIG = 12
"""From so many ranks on, the circles are small."""
_MOST_CLOSE = 9
"""More ranks than that stand on a larger ellipse, so that there is room for arrows between them."""


@dataclass(frozen=True)
class Circle:
    """Ranks in the order in which they stand around the circle, the first at the top."""

    ranks: tuple[int, ...]

    @property
    def _has_notes(self) -> bool:
        return len(self.ranks) < _FEWEST_BIG

    @property
    def radius(self) -> float:
        """Return the radius of one rank's circle."""
        return 18 if len(self.ranks) < _FEWEST_BIG else 11

    def centre(self, rank: int) -> tuple[float, float]:
        """Return where a rank is drawn; the middle of the ellipse is the origin."""
        angle = 2 * math.pi * self.ranks.index(rank) / len(self.ranks) - math.pi / 2
        if len(self.ranks) == 2:
            angle -= math.pi / 2
        scale = max(len(self.ranks) / _MOST_CLOSE, 1)
        return scale * _WIDE * math.cos(angle), scale * _HIGH * math.sin(angle)

    def node(self, rank: int, *notes: str, is_gone: bool = False) -> Markup:
        """Return a rank with its number, and a few words on the side where no arrow is.

        notes: left out where many ranks leave no room for them.
        """
        x, y = self.centre(rank)
        name = f"node{' gone' if is_gone else ''}"
        return element(
            "g",
            element("circle", cx=x, cy=y, r=self.radius, class_=name),
            element("text", str(rank), x=x, y=y + 4, class_="name"),
            *(self._notes(x, y, notes) if self._has_notes else ()),
        )

    def _notes(self, x: float, y: float, notes: Sequence[str]) -> list[Markup]:
        """Return them beside a rank at the left or right end, else in a line above or below it."""
        outward = "middle" if abs(x) < _IN_THE_MIDDLE else "start" if x > 0 else "end"
        if abs(y) < _IN_THE_MIDDLE:
            aside = math.copysign(self.radius + 6, x)
            top = y + 4 - _LINE * (len(notes) - 1) / 2
            return [
                _small(note, x + aside, top + _LINE * index, outward)
                for index, note in enumerate(notes)
            ]
        below = self.radius + 14 if y > 0 else -self.radius - 7
        inward = 0 if outward == "middle" else math.copysign(self.radius / 2, -x)
        return [_small(", ".join(notes), x + inward, y + below, outward)] if notes else []

    def arrow(
        self,
        source: int,
        destination: int,
        kind: str,
        width: float = 2,
        label: str = "",
        bend: float = _USUAL_BEND,
    ) -> Markup:
        """Return an arrow, bent to its left so that two that are opposite do not meet.

        bend: how far it is led aside, as a share of its length.
        """
        (x0, y0), (x1, y1) = self.centre(source), self.centre(destination)
        if source == destination:
            return self._loop(x0, y0, kind, width)
        length = math.hypot(x1 - x0, y1 - y0)
        along, across = ((x1 - x0) / length, (y1 - y0) / length), bend * length
        bend_x = (x0 + x1) / 2 + along[1] * across
        bend_y = (y0 + y1) / 2 - along[0] * across
        start = _towards((x0, y0), (bend_x, bend_y), self.radius + 2)
        end = _towards((x1, y1), (bend_x, bend_y), self.radius + 2 + _TIP)
        path = f"M{start[0]:.1f} {start[1]:.1f}Q{bend_x:.1f} {bend_y:.1f} {end[0]:.1f} {end[1]:.1f}"
        drawn = _line(path, kind, width)
        if not label:
            return drawn
        aside = along[1] * _LABEL_ASIDE, -along[0] * _LABEL_ASIDE
        x, y = (x0 + x1) / 4 + bend_x / 2 + aside[0], (y0 + y1) / 4 + bend_y / 2 + aside[1]
        is_beside = abs(aside[0]) > _LABEL_ASIDE / 3
        anchor = ("start" if aside[0] > 0 else "end") if is_beside else "middle"
        return element("g", drawn, _small(label, x, y + 4, anchor))

    def _loop(self, x: float, y: float, kind: str, width: float) -> Markup:
        """Return an arrow from a rank to itself, on the side on which its note is not."""
        away = 1 if y <= -1 else -1
        edge = y + away * self.radius
        path = f"M{x - 8:.1f} {edge:.1f}C{x - 34:.1f} {edge + away * 44:.1f} "
        path += f"{x + 34:.1f} {edge + away * 44:.1f} {x + 12:.1f} {edge + away * (_TIP - 2):.1f}"
        return _line(path, kind, width)

    def picture(self, label: str, *children: Child) -> Markup:
        """Return the drawing; label: what it shows, for who does not see it."""
        places = [self.centre(rank) for rank in self.ranks]
        beside, above = (_BESIDE, _ABOVE) if self._has_notes else (_AROUND, _AROUND)
        wide = max(x for x, _ in places) + beside
        top, bottom = min(y for _, y in places) - above, max(y for _, y in places) + above
        return element(
            "svg",
            element("title", label),
            *children,
            viewBox=f"{-wide:.0f} {top:.0f} {2 * wide:.0f} {bottom - top:.0f}",
            class_="ring",
            role="img",
        )


def _small(words: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", words, x=x, y=y, class_="small above", text_anchor=anchor)


def _line(path: str, kind: str, width: float) -> Markup:
    return element(
        "path", d=path, class_=f"edge {kind}", stroke_width=width, marker_end=f"url(#tip-{kind})"
    )


def tips() -> Markup:
    """Return the heads of arrows of each kind, which pictures of the page refer to."""
    return element(
        "svg",
        element("defs", *map(_tip, ("send", "cycle", "waits", "last")), _tip("arrow", at_end=True)),
        width=0,
        height=0,
        aria_hidden="true",
    )


def _tip(kind: str, *, at_end: bool = False) -> Markup:
    """Return the head of an arrow, which begins or, with `at_end`, ends where its line does."""
    return element(
        "marker",
        element("path", d="M0 0L10 5L0 10Z", class_=f"tip-{kind}"),
        id=f"tip-{kind}",
        viewBox="0 0 10 10",
        refX=9 if at_end else 1,
        refY=5,
        markerWidth=_TIP,
        markerHeight=_TIP,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )


def _towards(
    start: tuple[float, float], target: tuple[float, float], distance: float
) -> tuple[float, float]:
    share = distance / math.dist(start, target)
    return start[0] + share * (target[0] - start[0]), start[1] + share * (target[1] - start[1])


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
