"""Puts ranks on a circle and bends arrows between them; a point is a complex number."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_WIDE, _HIGH = 84, 92
"""Half axes of the ellipse on which a few ranks stand."""
_BESIDE, _ABOVE, _AROUND = 100, 42, 26
"""Room at the outermost ranks: for a few words, or where there are none."""
_TIP = 10
"""How long the head of an arrow is."""
_USUAL_BEND, _LABEL_ASIDE = 0.12, 15
_IN_THE_MIDDLE = 40
"""A rank that is nearer to an axis of the ellipse is at one of its ends."""
_LINE = 14
"""How far one line of words is below the other."""
_FEWEST_BIG = 12
"""From so many ranks on, the circles are small, and there is no room for words."""
_MOST_CLOSE = 9
"""More ranks than that stand on a larger ellipse, so that there is room for arrows between them."""

Words = tuple[str, complex, str]
"""A few words, where they are, and which end of them is there."""


@dataclass(frozen=True)
class Arrow:
    """A line from rank to rank; kind: `send`, `cycle`, `waits`, or `last`."""

    kind: str
    path: str
    width: float
    label: tuple[Words, ...] = ()


@dataclass(frozen=True)
class Circle:
    """Ranks in the order in which they stand around the circle, the first at the top."""

    ranks: tuple[int, ...]

    @property
    def _has_room(self) -> bool:
        return len(self.ranks) < _FEWEST_BIG

    @property
    def radius(self) -> int:
        """Return the radius of one rank's circle."""
        return 18 if self._has_room else 11

    @property
    def view(self) -> str:
        """Return the part of the plane that is shown: left, top, width, and height."""
        beside, above = (_BESIDE, _ABOVE) if self._has_room else (_AROUND, _AROUND)
        xs, ys = zip(*((at.real, at.imag) for at in map(self.centre, self.ranks)), strict=True)
        wide, top, bottom = max(xs) + beside, min(ys) - above, max(ys) + above
        return f"{-wide:.0f} {top:.0f} {2 * wide:.0f} {bottom - top:.0f}"

    def centre(self, rank: int) -> complex:
        """Return where a rank is drawn; the middle of the ellipse is the origin."""
        num_ranks = len(self.ranks)
        turns = self.ranks.index(rank) / num_ranks - (0.5 if num_ranks == 2 else 0.25)
        scale, angle = max(num_ranks / _MOST_CLOSE, 1), 2 * math.pi * turns
        return scale * complex(_WIDE * math.cos(angle), _HIGH * math.sin(angle))

    def notes(self, rank: int, notes: Sequence[str]) -> list[Words]:
        """Return them beside a rank at the left or right end, else in a line above or below it."""
        if not notes or not self._has_room:
            return []
        at = self.centre(rank)
        side = math.copysign(1, at.real)
        anchor = "middle" if abs(at.real) < _IN_THE_MIDDLE else "start" if side > 0 else "end"
        if abs(at.imag) < _IN_THE_MIDDLE:
            at += complex(side * (self.radius + 6), 4 - _LINE * (len(notes) - 1) / 2)
            return [(note, at + 1j * _LINE * index, anchor) for index, note in enumerate(notes)]
        inward = 0 if anchor == "middle" else -side * self.radius / 2
        below = self.radius + 14 if at.imag > 0 else -self.radius - 7
        return [(", ".join(notes), at + complex(inward, below), anchor)]

    def arrow(
        self,
        source: int,
        destination: int,
        kind: str,
        width: float = 2,
        label: str = "",
        bend: float = _USUAL_BEND,
    ) -> Arrow:
        """Return an arrow, bent to its left so that two that are opposite do not meet.

        bend: how far it is led aside, as a share of its length.
        """
        first, last = self.centre(source), self.centre(destination)
        if source == destination:
            return Arrow(kind, self._loop(first), width)
        left = -1j * (last - first) / abs(last - first)
        bent = (first + last) / 2 + left * bend * abs(last - first)
        start = _towards(first, bent, self.radius + 2)
        end = _towards(last, bent, self.radius + 2 + _TIP)
        path = f"M{_pair(start)}Q{_pair(bent)} {_pair(end)}"
        is_beside = abs(left.real) > 1 / 3
        anchor = ("start" if left.real > 0 else "end") if is_beside else "middle"
        at = (first + last) / 4 + bent / 2 + left * _LABEL_ASIDE + 4j
        return Arrow(kind, path, width, ((label, at, anchor),) if label else ())

    def _loop(self, at: complex) -> str:
        """Return the path from a rank to itself, on the side on which its note is not."""
        away = 1j if at.imag <= -1 else -1j
        edge = at + away * self.radius
        points = edge - 34 + away * 44, edge + 34 + away * 44, edge + 12 + away * (_TIP - 2)
        return f"M{_pair(edge - 8)}C{' '.join(map(_pair, points))}"


@dataclass(frozen=True)
class Picture:
    """Ranks with arrows between them; told: what it shows, for who does not see it."""

    told: str
    circle: Circle
    arrows: Sequence[Arrow]
    notes: Mapping[int, Sequence[str]] = field(default_factory=dict)
    gone: Sequence[int] = ()
    """Ranks whose circle is dashed."""


def _towards(start: complex, target: complex, distance: float) -> complex:
    return start + distance * (target - start) / abs(target - start)


def _pair(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"
