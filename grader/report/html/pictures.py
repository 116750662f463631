"""Draws what ranks did: on a circle with arrows between them, and along the time.

A point is a complex number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.model.evidence import CallSpan, Deadlock, Edge, Evidence, Message, Timeline
from grader.model.plural import counted

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
        """Return an arrow, bent to its left so that two that are opposite do not meet."""
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
    told = f"{len(edges)} of {most_pairs} possible sender-receiver pairs."
    if is_ring:
        told = f"A ring: {' → '.join(map(str, [*ring, ring[0]]))}."
    elif len(edges) == most_pairs:
        told = "Every rank sent to every other rank."
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
    """Return a ring, in which each sends to one other, from its lowest rank; empty for none."""
    following = dict(edges)
    if len(following) != len(edges) or len(edges) < 3:
        return ()
    ring = [min(following)]
    while following.get(ring[-1], ring[0]) not in ring:
        ring.append(following[ring[-1]])
    closes = following.get(ring[-1]) == ring[0]
    return tuple(ring) if closes and len(ring) == len(following) else ()


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
    outside = ", outside the cycle" if "cycle" in kinds else ""
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
        return "No cycle: a rank is waiting for something that can no longer happen."
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
            f"Last completed exchange: rank {last.source} to rank {last.destination}, "
            f"{bytes_text(last.num_bytes)}, tag {last.tag}{where}, {last.received_ms:.3f} ms "
            "after the first call."
        )
    if not num_left_out:
        return "No message between ranks is known to have arrived in this case."
    messages = counted(num_left_out, "message")
    return f"{messages} between ranks had arrived before the first call shown here."


_LANE, _TOP = 56, 20
_ROWS = {"send": 8, "receive": 20, "wait": 32, "collective": 32}
"""Where in a lane each kind is drawn, so that no colour alone tells it."""
_NARROWEST = 0.35
"""Of a bar: what is shorter could not be seen."""


@dataclass(frozen=True)
class Axis:
    """The time from the first call that is shown; the last tenth is for what goes on."""

    first_ms: float
    length_ms: float

    def x(self, time_ms: float) -> float:
        """Return where a time is; what was before the first call is at the left edge."""
        return 1 + 89 * min(max((time_ms - self.first_ms) / self.length_ms, 0), 1)

    def width(self, span: CallSpan) -> float:
        """Return how wide the bar of a call is."""
        end = 99.5 if span.ended_ms is None else self.x(span.ended_ms)
        return max(end - self.x(span.began_ms), _NARROWEST)

    @property
    def ticks(self) -> list[float]:
        """Return the times that are named, in milliseconds."""
        return [self.first_ms + self.length_ms * quarter / 4 for quarter in range(5)]


def axis(seen: Timeline) -> Axis:
    """Return an axis for all calls and messages that are shown; there is a call."""
    first = min(each.began_ms for each in seen.spans)
    known = [time for span in seen.spans for time in (span.began_ms, span.ended_ms or 0.0)]
    known += [each.received_ms for each in seen.messages]
    return Axis(first, max(max(known) - first, 1e-3))


def y(rank: int, kind: str) -> int:
    """Return where the bars of a rank and a kind have their middle."""
    return lane(rank) + _ROWS.get(kind, _ROWS["wait"])


def lane(rank: int) -> int:
    """Return where the lane of a rank begins, and the one before it ends."""
    return _TOP + _LANE * rank


def span_title(span: CallSpan) -> str:
    """Return what is said of a bar."""
    ended = "ms, not returned" if span.ended_ms is None else f"to {span.ended_ms:.3f} ms"
    said = [f"rank {span.rank}: {span.name}", span.note, span.place]
    return f"{', '.join(filter(None, said))}; from {span.began_ms:.3f} {ended}"


def took_text(span: CallSpan) -> str:
    """Return how many milliseconds a call took."""
    return "not returned" if span.ended_ms is None else f"{span.ended_ms - span.began_ms:.3f}"


def cut_text(seen: Timeline) -> str:
    """Return how many calls and messages are left out; empty for none."""
    left_out = (
        (len(seen.spans), seen.num_spans_left_out, "calls"),
        (len(seen.messages), seen.num_messages_left_out, "messages"),
    )
    return "".join(
        f" Of {num_shown + num_others} {what}, {_last_shown(num_shown)}."
        for num_shown, num_others, what in left_out
        if num_others
    )


def _last_shown(num_shown: int) -> str:
    if num_shown == 0:
        return "none is shown: all arrived before the calls shown here"
    return f"the last {num_shown} are shown" if num_shown > 1 else "the last is shown"
