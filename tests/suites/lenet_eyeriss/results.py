"""What each element of the array has made when: the values that later operations may use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .schedule import Element, Matrix, Work

Result = tuple[int, float]
"""The cycle a value was made in, and the value."""


@dataclass
class Results:
    """What one element has made for one output column."""

    products: dict[int, Result] = field(default_factory=dict)
    """By tap."""
    sums: dict[int, Result] = field(default_factory=dict)
    """The sum of the products up to a tap; of tap 0 it is the product itself."""
    psum: Result | None = None
    """What the element above may have: its own sum and all psums from below."""


ByElement = Mapping[tuple[Element, int], Results]
"""By element and output column."""


def results_of(schedule: Sequence[Work], ifmap: Matrix, kernel: Matrix) -> ByElement:
    """Return when each value was made first, and what it truly is, whatever the schedule says.

    An operation counts even if its operands were not there yet; one whose operands are never made
    makes nothing. schedule: in time order.
    """
    made = {(work.pe, work.out_col): Results() for work in schedule}
    for work in schedule:
        if work.op == "multiply" and in_array(work.kernel, kernel) and in_array(work.ifmap, ifmap):
            product = float(kernel[work.kernel]) * float(ifmap[work.ifmap])
            made[work.pe, work.out_col].products.setdefault(work.kernel[1], (work.cycle, product))
    for mine in made.values():
        if 0 in mine.products:
            mine.sums[0] = mine.products[0]
    for work in sorted((work for work in schedule if work.op == "add"), key=lambda work: work.tap):
        mine = made[work.pe, work.out_col]
        if work.tap - 1 in mine.sums and work.tap in mine.products:
            total = mine.sums[work.tap - 1][1] + mine.products[work.tap][1]
            mine.sums.setdefault(work.tap, (work.cycle, total))
    _send_psums_up(schedule, made, kernel)
    return made


def in_array(place: tuple[int, int], array: Matrix) -> bool:
    """Return whether there is such an element in a matrix."""
    return 0 <= place[0] < array.shape[0] and 0 <= place[1] < array.shape[1]


def _send_psums_up(schedule: Sequence[Work], made: ByElement, kernel: Matrix) -> None:
    """Fill in the psums: an element that adds none has its sum, others need one from elsewhere."""
    last_tap = kernel.shape[1] - 1
    waiting = [work for work in schedule if work.op == "psum"]
    adding = {(work.pe, work.out_col) for work in waiting}
    for place, mine in made.items():
        if place not in adding:
            mine.psum = mine.sums.get(last_tap)
    # A schedule may take psums from any row, so try until no more can be made.
    while waiting:
        left = []
        for work in waiting:
            mine = made[work.pe, work.out_col]
            source = made.get((work.psum_from, work.out_col))
            if source is None or source.psum is None or last_tap not in mine.sums:
                left.append(work)
            elif mine.psum is None:
                mine.psum = (work.cycle, mine.sums[last_tap][1] + source.psum[1])
        if len(left) == len(waiting):
            return
        waiting = left
