"""Replays a schedule of the array, operation by operation, and names each rule that one breaks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from grader.api import Finding, found

from .results import ByElement, Result, in_array, results_of
from .schedule import Element, Key, Matrix, Sizes, Work


class Rule(Enum):
    """What a schedule has to keep to."""

    OWN_WORK = "a PE does all the work on its own rows, each operation once"
    ONE_A_CYCLE = "a PE does one operation per cycle"
    OPERANDS = "an operand must be computed in an earlier cycle"
    VALUE = "an operation's value is the product or the sum of its operands"


@dataclass(frozen=True)
class Broken:
    """One rule, broken by an operation or by one that is not there."""

    rule: Rule
    finding: Finding


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
            again = found("dataflow.done_twice", f"{work} a second time.", **work.facts)
            broken.append(Broken(Rule.OWN_WORK, again))
        other = busy.setdefault((work.cycle, work.pe), work)
        if other is not work:
            text = f"In cycle {work.cycle}, PE{work.pe} does two operations. "
            text += f"It {other.what}, and it {work.what}."
            helps = "a PE has one arithmetic unit"
            both = found("dataflow.two_in_a_cycle", text, help=helps, **work.facts)
            broken.append(Broken(Rule.ONE_A_CYCLE, both))
        broken += _wrong_operands(work, made, ifmap, kernel)
    return broken + [
        Broken(Rule.OWN_WORK, _never_done(*key)) for key in sizes.all_keys() if not seen[key]
    ]


def adds_in_order(
    schedule: Sequence[Work], ifmap: Matrix, kernel: Matrix, *, says_operands: bool
) -> tuple[int, int]:
    """Return how many adds have a cycle of their element to themselves, after their operands.

    And how many adds there are, psums included. schedule: in time order. says_operands: it says
    what each multiply is of; if not, adds need no more than a cycle.
    """
    made = results_of(schedule, ifmap, kernel)
    busy = Counter((work.cycle, work.pe) for work in schedule)
    adds = [work for work in schedule if work.op != "multiply"]
    in_order = [
        work
        for work in adds
        if busy[work.cycle, work.pe] == 1
        and not (says_operands and _uses_too_early(work, made, ifmap, kernel))
    ]
    return len(in_order), len(adds)


def _uses_too_early(work: Work, made: ByElement, ifmap: Matrix, kernel: Matrix) -> bool:
    return any(each.rule is Rule.OPERANDS for each in _wrong_operands(work, made, ifmap, kernel))


def waiting(schedule: Sequence[Work], ifmap: Matrix, kernel: Matrix) -> Iterator[tuple[Work, int]]:
    """Yield each operation that begins later than it could, and the cycle in which it could.

    It could when its element has finished the operation before it, and its operands exist.
    """
    made = results_of(schedule, ifmap, kernel)
    finished: dict[Element, int] = {}
    for work in schedule:
        operands = [] if work.op == "multiply" else _operands(work, made, kernel.shape[1] - 1)
        ready = finished.get(work.pe, schedule[0].cycle - 1)
        ready = max([ready, *(operand[0] for _, operand in operands if operand)])
        if work.cycle > ready + 1:
            yield work, ready + 1
        finished[work.pe] = work.cycle


def leaving_cycles(schedule: Sequence[Work], sizes: Sizes) -> dict[tuple[int, int], int]:
    """Return for each output (e, f) the cycle of the last add or psum that PE(0, e) does for it.

    Left out are outputs without the operation that completes them: a psum, unless there is one row.
    """
    completes = "psum" if sizes.kernel_rows > 1 else "add" if sizes.taps > 1 else "multiply"
    last: dict[tuple[int, int], int] = {}
    complete = set()
    for work in schedule:
        place = (work.pe[1], work.out_col)
        if work.pe[0] == 0 and (work.op != "multiply" or completes == "multiply"):
            last[place] = max(work.cycle, last.get(place, work.cycle))
            complete |= {place} if work.op == completes else set()
    return {place: cycle for place, cycle in last.items() if place in complete}


def _never_done(op: str, pe: Element, out_col: int, tap: int) -> Finding:
    what = {
        "multiply": f"multiplies tap {tap}",
        "add": f"adds the product of tap {tap}",
        "psum": "adds the psum of the PE below it",
    }[op]
    text = f"PE{pe} never {what} for output column {out_col}."
    return found("dataflow.never_done", text, pe=pe, op=op, out_col=out_col, tap=tap)


def _numbered(noun: str, number: int) -> str:
    return f"the {noun}s are 0 to {number - 1}" if number > 1 else f"the only {noun} is 0"


def _foreign(work: Work, sizes: Sizes, expected: set[Key]) -> Iterator[Finding]:
    """Yield what makes an operation another element's, or no element's."""
    (r, e), f = work.pe, work.out_col
    but, facts = f"{work}, but", work.facts
    if not (0 <= r < sizes.kernel_rows and 0 <= e < sizes.out_rows):
        rows = f"{sizes.kernel_rows} row{'s' * (sizes.kernel_rows != 1)}"
        columns = f"{sizes.out_rows} column{'s' * (sizes.out_rows != 1)}"
        text = f"{but} the array has {rows} (one per kernel row) and {columns} (one per ofmap row)."
        yield found("dataflow.no_such_pe", text, **facts)
    elif not 0 <= f < sizes.out_cols:
        text = f"{but} {_numbered('output column', sizes.out_cols)}."
        yield found("dataflow.no_such_output_column", text, **facts)
    elif work.op == "psum":
        if r == sizes.kernel_rows - 1:
            text = f"{but} PE{work.pe} is in the last row and has no PE below it."
            yield found("dataflow.psum_in_last_row", text, **facts)
        elif work.psum_from != (r + 1, e):
            text = f"{but} psums move up the column, from PE({r + 1}, {e}) to PE{work.pe}."
            yield found("dataflow.psum_from_elsewhere", text, **facts, psum_from=work.psum_from)
    elif work.op == "multiply":
        (kernel_row, s), (ifmap_row, ifmap_column) = work.kernel, work.ifmap
        if kernel_row != r:
            text = f"{but} PE{work.pe} keeps kernel row {r}."
            yield found("dataflow.other_kernel_row", text, **facts, kernel_row=kernel_row)
        elif ifmap_row != r + e:
            text = f"{but} PE{work.pe} reads ifmap row {r} + {e} = {r + e}."
            yield found("dataflow.other_ifmap_row", text, **facts, ifmap_row=ifmap_row)
        elif work.key not in expected:
            text = f"{but} {_numbered('kernel column', sizes.taps)}."
            yield found("dataflow.no_such_kernel_column", text, **facts)
        elif ifmap_column != f + s:
            text = f"{but} kernel column {s} needs ifmap column {f} + {s} = {f + s}."
            yield found("dataflow.other_ifmap_column", text, **facts, ifmap_column=ifmap_column)
    elif work.tap == 0:
        text = f"{but} the sum begins with that product."
        yield found("dataflow.adds_first_product", text, **facts)
    elif work.key not in expected:
        text = f"{but} {_numbered('tap', sizes.taps)}."
        yield found("dataflow.no_such_tap", text, **facts, tap=work.tap)


def _wrong_operands(work: Work, made: ByElement, ifmap: Matrix, kernel: Matrix) -> Iterator[Broken]:
    """Yield operands that are not there or not yet, and a value that is not what they make."""
    but, facts = f"{work}, but", work.facts
    if work.op == "multiply":
        for name, place, array in (("kernel", work.kernel, kernel), ("ifmap", work.ifmap, ifmap)):
            if not in_array(place, array):
                text = f"{but} the {name} is {array.shape[0]} x {array.shape[1]}."
                outside = found("dataflow.operand_outside", text, **facts)
                yield Broken(Rule.OPERANDS, outside)
                return
        value = float(kernel[work.kernel]) * float(ifmap[work.ifmap])
    elif work.op == "add" and work.tap < 1:
        return  # No PE's work: there is no sum to add it to.
    else:
        value = 0.0
        for name, operand in _operands(work, made, kernel.shape[1] - 1):
            if operand is None:
                text = f"{but} {name} is never computed."
                never = found("dataflow.operand_never_made", text, **facts)
                yield Broken(Rule.OPERANDS, never)
                return
            cycle, operand_value = operand
            value += operand_value
            if cycle >= work.cycle:
                text = f"{but} {name} is not ready until cycle {cycle + 1}."
                early = found("dataflow.operand_too_early", text, **facts, made_in=cycle)
                yield Broken(Rule.OPERANDS, early)
    if work.value != value:
        text = f"{work}. The value must be {value:g}; the schedule says {work.value:g}."
        facts |= {"value": f"{work.value:g}", "expected": f"{value:g}"}
        yield Broken(Rule.VALUE, found("dataflow.wrong_value", text, **facts))


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
