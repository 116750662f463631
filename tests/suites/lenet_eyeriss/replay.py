"""Replays a schedule of the array, operation by operation, and names each rule that one breaks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from .results import ByElement, Result, in_array, results_of
from .schedule import Element, Key, Matrix, Sizes, Work


class Rule(Enum):
    """What a schedule has to keep to."""

    OWN_WORK = "an element does the work of its own rows, all of it and once"
    ONE_A_CYCLE = "an element does one operation in a cycle"
    OPERANDS = "an operand is made in an earlier cycle than it is used"
    VALUE = "what comes out is what the operands make"


@dataclass(frozen=True)
class Broken:
    """One rule, broken by an operation or by one that is not there."""

    rule: Rule
    sentence: str


def broken_rules(schedule: Sequence[Work], ifmap: Matrix, kernel: Matrix) -> list[Broken]:
    """Return every break of a rule in the order of the cycles; what is missing comes last.

    schedule: in time order.
    """
    sizes = Sizes.of(ifmap, kernel)
    expected = set(sizes.all_keys())
    made = results_of(schedule, ifmap, kernel)
    broken: list[Broken] = []
    seen: Counter[Key] = Counter()
    busy: dict[tuple[int, Element], Work] = {}
    for work in schedule:
        broken += [Broken(Rule.OWN_WORK, each) for each in _foreign(work, sizes, expected)]
        seen[work.key] += 1
        if seen[work.key] == 2:
            broken.append(Broken(Rule.OWN_WORK, f"{work} is done a second time"))
        other = busy.setdefault((work.cycle, work.pe), work)
        if other is not work:
            sentence = f"{work} comes in the same cycle as its {other.what}"
            broken.append(Broken(Rule.ONE_A_CYCLE, sentence))
        broken += _wrong_operands(work, made, ifmap, kernel)
    return broken + [
        Broken(Rule.OWN_WORK, f"PE{pe} never does its {_told(op, tap)} for output column {f}")
        for op, pe, f, tap in sizes.all_keys()
        if not seen[op, pe, f, tap]
    ]


def leaving_cycles(schedule: Sequence[Work]) -> dict[tuple[int, int], int]:
    """Return for each output (e, f) the cycle of the last operation that PE(0, e) does for it."""
    last: dict[tuple[int, int], int] = {}
    for work in schedule:
        if work.pe[0] == 0:
            place = (work.pe[1], work.out_col)
            last[place] = max(work.cycle, last.get(place, work.cycle))
    return last


def _told(op: str, tap: int) -> str:
    return {
        "multiply": f"multiply of tap {tap}",
        "add": f"add of the product of tap {tap}",
        "psum": "add of the psum from the element below",
    }[op]


def _foreign(work: Work, sizes: Sizes, expected: set[Key]) -> Iterator[str]:
    """Yield what makes an operation another element's, or nobody's."""
    (r, e), f = work.pe, work.out_col
    if not (0 <= r < sizes.kernel_rows and 0 <= e < sizes.out_rows):
        yield (
            f"{work}: there is no such element, the array has {sizes.kernel_rows} rows (of the "
            f"kernel) and {sizes.out_rows} columns (rows of the output)"
        )
    elif not 0 <= f < sizes.out_cols:
        yield f"{work}: the columns of the output are 0 to {sizes.out_cols - 1}"
    elif work.op == "psum":
        if r == sizes.kernel_rows - 1:
            yield f"{work}: PE{work.pe} is in the last row, no element is below it"
        elif work.psum_from != (r + 1, e):
            yield f"{work}: psums come up the column, from PE({r + 1}, {e}) to PE{work.pe}"
    elif work.op == "multiply":
        kernel_row, s = work.kernel
        if kernel_row != r:
            yield f"{work}: PE{work.pe} keeps kernel row {r}"
        elif work.ifmap[0] != r + e:
            yield f"{work}: PE{work.pe} reads ifmap row {r} + {e} = {r + e}"
        elif work.key not in expected:
            yield f"{work}: the columns of the kernel are 0 to {sizes.taps - 1}"
        elif work.ifmap[1] != f + s:
            yield f"{work}: there kernel column {s} meets ifmap column {f} + {s} = {f + s}"
    elif work.key not in expected:
        yield f"{work}: added to the product of tap 0 are those of taps 1 to {sizes.taps - 1}"


def _wrong_operands(work: Work, made: ByElement, ifmap: Matrix, kernel: Matrix) -> Iterator[Broken]:
    """Yield operands that are not there or not yet, and a value that is not what they make."""
    if work.op == "multiply":
        for name, place, array in (("kernel", work.kernel, kernel), ("ifmap", work.ifmap, ifmap)):
            if not in_array(place, array):
                sentence = f"{work}: {name} is {array.shape[0]} x {array.shape[1]}"
                yield Broken(Rule.OPERANDS, sentence)
                return
        value = float(kernel[work.kernel]) * float(ifmap[work.ifmap])
    elif work.op == "add" and work.tap < 1:
        return  # nobody's work: there is no sum to add it to
    else:
        value = 0.0
        for name, operand in _operands(work, made, kernel.shape[1] - 1):
            if operand is None:
                yield Broken(Rule.OPERANDS, f"{work} uses {name}, which is never made")
                return
            cycle, operand_value = operand
            value += operand_value
            if cycle >= work.cycle:
                sentence = f"is made in cycle {cycle} and can be used from cycle {cycle + 1}"
                yield Broken(Rule.OPERANDS, f"{work} uses {name}, which {sentence}")
    if work.value != value:
        sentence = f"{work} makes {value:g}, but the schedule says {work.value:g}"
        yield Broken(Rule.VALUE, sentence)


def _operands(work: Work, made: ByElement, last_tap: int) -> Iterator[tuple[str, Result | None]]:
    """Yield the two operands of an add, each with its name."""
    mine = made[work.pe, work.out_col]
    if work.op == "add":
        before = work.tap - 1
        yield (
            (f"its sum up to tap {before}" if before else "its product of tap 0"),
            mine.sums.get(before),
        )
        yield f"its product of tap {work.tap}", mine.products.get(work.tap)
    else:
        yield "its own complete sum", mine.sums.get(last_tap)
        source = made.get((work.psum_from, work.out_col))
        yield f"the psum of PE{work.psum_from}", source.psum if source else None
