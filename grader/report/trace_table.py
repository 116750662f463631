"""The calls of a case as a student reads them: a table for each rank, or one in order of time."""

from collections.abc import Sequence
from itertools import chain

from grader.report.columns import Column, aligned
from grader.report.page import BOLD, DIM, RED, YELLOW, Page
from grader.report.safe_text import one_line
from grader.report.trace_fold import Block, blocks_of
from grader.report.trace_rows import Row, State, peer_text, tag_text
from grader.trace.calls import RankTrace, Trace

_MS, _RANK, _NUMBER = (Column(title, is_number=True) for title in ("ms", "rank", "#"))
_REST = (
    Column("call"),
    Column("peer"),
    Column("tag"),
    Column("bytes", is_number=True),
    Column("comm"),
    Column("line", is_cut_at_start=True),
    Column("state"),
)
_OF_ONE_RANK = (_NUMBER, _MS, *_REST)
_OF_ALL_RANKS = (_MS, _RANK, _NUMBER, *_REST)
_COLOURS = {
    State.WAITING: (BOLD, RED),
    State.ERROR: (BOLD, RED),
    State.NEVER: (YELLOW,),
    State.CANCELLED: (YELLOW,),
}
_MANY = 10**12
"""Numbers from here on are written with an exponent: no real count is so large."""
_LONG_MS = 0.05
"""Who was in a call for less did not wait."""
_FIRST_SHARE = 3, 4
"""Of the rows that are shown of many: the others are the last ones, where a run ends."""


class Labels:
    """Short names of what would take much room in every row."""

    def __init__(self, rows: Sequence[Sequence[Row]]) -> None:
        """rows: those of each rank."""
        ordered = sorted(chain.from_iterable(rows), key=lambda row: row.began_ms)
        found = dict.fromkeys(row.call.communicator for row in ordered if _has_communicator(row))
        others = [number for number in found if number]
        self._sizes = {row.call.communicator: row.call.communicator_size for row in ordered}
        self._communicators = {number: _letter(index) for index, number in enumerate(others)}
        if 0 in found:
            self._communicators[0] = "world"
        files = {row.place.rpartition(":")[0] for row in ordered if row.place}
        self.file = files.pop() if len(files) == 1 else ""
        """The only file that calls; empty where there are several."""

    def communicator(self, row: Row) -> str:
        """Return `A`, `B`, ... or `world`; nothing for a call that is about none."""
        return self._communicators[row.call.communicator] if _has_communicator(row) else ""

    @property
    def has_several(self) -> bool:
        """Return whether calls differ in their communicator."""
        return len(self._communicators) > 1

    def place(self, row: Row) -> str:
        """Return `ring.py:31`, or `31` where all calls are of one file."""
        return row.place.rpartition(":")[2] if self.file else row.place

    def communicators(self) -> dict[str, int]:
        """Return how many processes each communicator has, in order of their first use."""
        return {label: self._sizes[number] for number, label in self._communicators.items()}


def _has_communicator(row: Row) -> bool:
    return row.call.communicator >= 0 and not row.waits_for


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else f"c{index + 1}"


def by_rank(
    page: Page, trace: Trace, rows: Sequence[Sequence[Row]], labels: Labels, limit: int
) -> list[str]:
    """Return a table for each rank, repeated blocks folded; limit: rows of each, 0 for all calls.

    Of more rows the first and the last are shown.
    """
    shown = [_shortened(_folded(own) if limit else list(own), limit) for own in rows]
    tables = _tables(page, shown, labels, _OF_ONE_RANK)
    lines: list[str] = []
    for rank, table in enumerate(tables):
        heading = _heading(rank, trace.ranks[rank], labels)
        lines += ["", *(page.paint(line, BOLD) for line in page.paragraph(heading, first=""))]
        lines += table
    return lines[1:]


def by_time(page: Page, rows: Sequence[Sequence[Row]], labels: Labels, limit: int) -> list[str]:
    """Return one table of all ranks, in order of time; limit: calls of each rank, 0 for all."""
    shown: list[Row] = []
    left_out: list[str] = []
    for rank, own in enumerate(rows):
        entries = _shortened(list(own), limit)
        shown += [entry for entry in entries if isinstance(entry, Row)]
        left_out += [f"rank {rank}: {entry}" for entry in entries if isinstance(entry, str)]
    shown.sort(key=lambda row: (row.began_ms, row.rank, row.number))
    (lines,) = _tables(page, [shown], labels, _OF_ALL_RANKS)
    return [*lines, *(line for text in left_out for line in page.paragraph(text))]


def _heading(rank: int, seen: RankTrace, labels: Labels) -> str:
    number = len(seen.calls)
    told = [f"{number:,} call{'' if number == 1 else 's'}" if number else "no calls"]
    if number and labels.file:
        told.append(f"lines of {one_line(labels.file)}")
    if seen.truncated:
        told.append("others were lost, because there were too many")
    return f"rank {rank}: {', '.join(told)}"


def _folded(rows: Sequence[Row]) -> list[Row | str]:
    """Return the rows with each repeated block once, and after it a text that says so."""
    entries: list[Row | str] = []
    for block in blocks_of(rows):
        entries += rows[block.start : block.start + block.length]
        if block.times > 1:
            entries.append(_again(block, rows[block.end - 1]))
    return entries


def _again(block: Block, last: Row) -> str:
    first = block.start + 1
    what = f"#{first}" if block.length == 1 else f"#{first}-{block.start + block.length}"
    times = "once more" if block.times == 2 else f"{block.times - 1} more times"
    return f"{what} again, {times}: up to #{last.number} at {ms_text(last.began_ms)} ms"


def _shortened(entries: Sequence[Row | str], limit: int) -> list[Row | str]:
    """Return as many entries: the first and the last, and between them how many calls are not."""
    if not limit or len(entries) <= limit + 1:
        return list(entries)
    num_first = -(-limit * _FIRST_SHARE[0] // _FIRST_SHARE[1])
    num_last = limit - num_first
    before, after = entries[:num_first], entries[len(entries) - num_last :]
    hidden = [row for row in entries[num_first : len(entries) - num_last] if isinstance(row, Row)]
    what = f"#{hidden[0].number} to #{hidden[-1].number}" if hidden else "repetitions"
    return [*before, f"... {what} left out; --limit 0 shows all", *after]


def _tables(
    page: Page, tables: Sequence[Sequence[Row | str]], labels: Labels, columns: Sequence[Column]
) -> list[list[str]]:
    """Return the lines of each table; all have the same columns, so that they can be compared."""
    rows = [entry for table in tables for entry in table if isinstance(entry, Row)]
    cells = [_cells(row, labels) for row in rows]
    head, *told = aligned(columns, [[each[c.title] for c in columns] for each in cells], page.width)
    lines_of_rows = iter(told)
    found = []
    for table in tables:
        lines = [page.paint(head, DIM)] if table else []
        for entry in table:
            if isinstance(entry, str):
                lines += [page.paint(line, DIM) for line in page.paragraph(entry, first=" " * 6)]
            else:
                line = next(lines_of_rows)
                lines.append(page.paint(line, *_COLOURS.get(entry.state, ())))
        found.append(lines)
    return found


def _cells(row: Row, labels: Labels) -> dict[str, str]:
    """Return what stands in the columns of each title."""
    return {
        "ms": ms_text(row.began_ms),
        "rank": str(row.rank),
        "#": str(row.number),
        "call": row.name,
        "peer": peer_text(row),
        "tag": tag_text(row),
        "bytes": count_text(row.num_bytes),
        "comm": labels.communicator(row) if labels.has_several else "",
        "line": labels.place(row),
        "state": state_text(row),
    }


def state_text(row: Row) -> str:
    """Return what became of a call, and where or after which time."""
    if row.state is State.ERROR:
        return f"error {row.call.error}"
    if row.state is State.EMPTY:
        return f"empty x {count_text(row.call.failed_polls)}"
    if row.state is not State.COMPLETED:
        return row.state.value
    if row.completed_by is not None:
        return f"done in #{row.completed_by}"
    if row.is_request or row.lasted_ms is None or row.lasted_ms < _LONG_MS:
        return "done"
    return f"done, {ms_text(row.lasted_ms)} ms"


def ms_text(time_ms: float) -> str:
    """Return milliseconds with two decimals."""
    return f"{time_ms:.2f}" if abs(time_ms) < _MANY else f"{time_ms:.1e}"


def count_text(number: int | None) -> str:
    """Return `1,024`; nothing for None."""
    if number is None:
        return ""
    return f"{number:,}" if abs(number) < _MANY else f"{number:.1e}"
