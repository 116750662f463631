"""The calls of a case as a student reads them: a table for each rank."""

from collections.abc import Hashable, Iterator, Sequence

from grader.addons.trace_views.trace_rows import (
    Row,
    State,
    communicators_of,
    peer_text,
    tag_text,
)
from grader.report.page import BOLD, DIM, RED, YELLOW, Column, Page, aligned
from grader.report.safe_text import one_line
from grader.trace.calls import RankTrace, Trace

_COLUMNS = (
    Column("#", is_number=True),
    Column("ms", is_number=True),
    Column("call"),
    Column("peer"),
    Column("tag"),
    Column("bytes", is_number=True),
    Column("comm"),
    Column("line", is_cut_at_start=True),
    Column("state"),
)
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
_LONGEST_BLOCK = 64
_FEWEST_SAVED = 3
"""Rows: fewer are as quick to read as what would stand in their place."""


def by_rank(page: Page, trace: Trace, rows: Sequence[Sequence[Row]], limit: int) -> list[str]:
    """Return a table for each rank, repeated blocks folded; limit: rows of each, 0 for all calls.

    Of more rows the first and the last are shown.
    """
    shown = [_shortened(_folded(own) if limit else own, limit) for own in rows]
    lines: list[str] = []
    for rank, table in enumerate(_tables(page, rows, shown)):
        heading = _heading(rank, trace.ranks[rank], _only_file(rows))
        lines += ["", *(page.paint(line, BOLD) for line in page.paragraph(heading, first=""))]
        lines += table
    return lines[1:]


def _only_file(rows: Sequence[Sequence[Row]]) -> str:
    """Return the only file that calls; empty where there are several."""
    files = {row.place.rpartition(":")[0] for own in rows for row in own if row.place}
    return files.pop() if len(files) == 1 else ""


def _heading(rank: int, seen: RankTrace, file: str) -> str:
    number = len(seen.calls)
    told = [f"{number:,} call{'' if number == 1 else 's'}" if number else "no calls"]
    if number and file:
        told.append(f"lines of {one_line(file)}")
    if seen.truncated:
        told.append("others were lost, because there were too many")
    return f"rank {rank}: {', '.join(told)}"


def _folded(rows: Sequence[Row]) -> list[Row | str]:
    """Return the rows with each repeated block once, and after it a text that says so."""
    entries: list[Row | str] = []
    for start, length, times in blocks_of(rows):
        entries += rows[start : start + length]
        if times > 1:
            what = f"#{start + 1}" if length == 1 else f"#{start + 1}-{start + length}"
            again = "once more" if times == 2 else f"{times - 1} more times"
            last = rows[start + length * times - 1]
            entries.append(
                f"{what} again, {again}: up to #{last.number} at {ms_text(last.began_ms)} ms"
            )
    return entries


def blocks_of(rows: Sequence[Row]) -> Iterator[tuple[int, int, int]]:
    """Yield the rows of one rank as blocks that repeat: where each starts, its length, how often.

    Most are of one row, once. Two calls are the same when all a table says of them is, but for
    times and numbers.
    """
    known: dict[Hashable, int] = {}
    keys = [known.setdefault(_key(row), len(known)) for row in rows]
    start = 0
    while start < len(keys):
        length, times = _best(keys, start)
        yield start, length, times
        start += length * times


def _best(keys: Sequence[int], start: int) -> tuple[int, int]:
    """Return length and times of the block from here on that saves most rows, the shortest one."""
    best, saved = (1, 1), _FEWEST_SAVED - 1
    for length in range(1, min(_LONGEST_BLOCK, (len(keys) - start) // 2) + 1):
        if keys[start + length] != keys[start]:
            continue
        first, times = keys[start : start + length], 1
        while keys[start + times * length : start + (times + 1) * length] == first:
            times += 1
        if length * (times - 1) > saved:
            best, saved = (length, times), length * (times - 1)
    return best


def _key(row: Row) -> Hashable:
    call = row.call
    return (
        row.name,
        () if row.waits_for else peer_text(row),
        tag_text(row),
        call.communicator,
        row.num_bytes,
        row.place,
        row.state,
        call.error,
        tuple(row.number - number for number in row.waits_for),
        tuple(row.number - number for number in row.completes),
        row.completed_by and row.completed_by - row.number,
    )


def _shortened(entries: Sequence[Row | str], limit: int) -> list[Row | str]:
    """Return as many entries: the first and the last, and between them how many calls are not."""
    if not limit or len(entries) <= limit + 1:
        return list(entries)
    num_first = -(-limit * _FIRST_SHARE[0] // _FIRST_SHARE[1])
    end = len(entries) - (limit - num_first)
    hidden = [row.number for row in entries[num_first:end] if isinstance(row, Row)]
    what = f"#{hidden[0]} to #{hidden[-1]}" if hidden else "repetitions"
    return [*entries[:num_first], f"... {what} left out; --limit 0 shows all", *entries[end:]]


def _tables(
    page: Page,
    rows: Sequence[Sequence[Row]],
    tables: Sequence[Sequence[Row | str]],
) -> list[list[str]]:
    """Return the lines of each table; all have the same columns, so that they can be compared.

    rows: all there are, also those that are in no table.
    """
    known, file = communicators_of(rows), _only_file(rows)
    names = {number: each.name for number, each in known.items() if len(known) > 1}
    told = [
        {
            "ms": ms_text(row.began_ms),
            "#": str(row.number),
            "call": row.name,
            "peer": peer_text(row),
            "tag": tag_text(row),
            "bytes": count_text(row.num_bytes),
            "comm": names.get(row.communicator, ""),
            "line": row.place.rpartition(":")[2] if file else row.place,
            "state": _state_text(row),
        }
        for table in tables
        for row in table
        if isinstance(row, Row)
    ]
    cells = [[each[column.title] for column in _COLUMNS] for each in told]
    head, *lines_of_rows = aligned(_COLUMNS, cells, page.width)
    lines = iter(lines_of_rows)
    found = []
    for table in tables:
        shown = [page.paint(head, DIM)] if table else []
        for entry in table:
            if isinstance(entry, str):
                shown += [page.paint(line, DIM) for line in page.paragraph(entry, first=" " * 6)]
            else:
                shown.append(page.paint(next(lines), *_COLOURS.get(entry.state, ())))
        found.append(shown)
    return found


def _state_text(row: Row) -> str:
    """Return what became of a call, and where or after which time."""
    if row.state is State.ERROR:
        return f"error {row.call.error}"
    if row.state is State.EMPTY:
        return f"empty x {count_text(row.call.failed_polls)}"
    if row.state is not State.COMPLETED:
        return row.state.value
    if row.completed_by is not None:
        return f"done in #{row.completed_by}"
    if row.call.creates_request or row.lasted_ms is None or row.lasted_ms < _LONG_MS:
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
