"""What `grade trace` prints: the figures, the calls, how the case ended, and the other cases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, zip_longest
from typing import TypeVar

from grader.addons.trace_views.trace_rows import (
    Figures,
    Messages,
    Row,
    State,
    Traced,
    TracedCase,
    collectives_of,
    communicators_of,
    edges_of,
    figures_of,
    number_runs,
    peer_text,
    rows_of,
    tag_text,
)
from grader.model.plural import counted
from grader.model.report import Verdict
from grader.report.safe_text import one_line
from grader.report.terminal_page import BOLD, DIM, INDENT, RED, YELLOW, Column, Page, aligned
from grader.report.words import VERDICT_WORDS
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
"""A rank that was in a call for less time did not wait."""
_FIRST_SHARE = 3, 4
"""If not all rows are shown, this share comes from the start, and the rest from the end."""


def _calls(page: Page, trace: Trace, rows: Sequence[Sequence[Row]], limit: int) -> list[str]:
    """Return a table for each rank; all have the same columns, so that they can be compared."""
    known, file = communicators_of(rows), _only_file(rows)
    names = {number: each.name for number, each in known.items() if len(known) > 1}
    kept = [_first_and_last(own, limit) for own in rows]
    cells = [_cells(row, names, file) for own in kept for row in own]
    head, *rest = aligned(_COLUMNS, cells, page.width)
    left, lines = iter(rest), list[str]()
    for rank, shown in enumerate(kept):
        heading = page.paragraph(_heading(rank, trace.ranks[rank], file), first="")
        lines += ["", *(page.paint(line, BOLD) for line in heading)]
        lines += [page.paint(head, DIM)] if shown else []
        for row, following in zip_longest(shown, [row.number for row in shown[1:]]):
            lines.append(page.paint(next(left), *_COLOURS.get(row.state, ())))
            last = (following or len(rows[rank]) + 1) - 1
            if row.number < last:
                told = f"... #{row.number + 1} to #{last} left out; --limit 0 shows all"
                lines += [page.paint(line, DIM) for line in page.paragraph(told, first=" " * 6)]
    return lines[1:]


def _first_and_last(rows: Sequence[Row], limit: int) -> list[Row]:
    """Return the first and the last rows, `limit` in all; 0 means all, and one more is fine."""
    if not limit or len(rows) <= limit + 1:
        return list(rows)
    num_first = -(-limit * _FIRST_SHARE[0] // _FIRST_SHARE[1])
    return [*rows[:num_first], *rows[len(rows) - (limit - num_first) :]]


def _cells(row: Row, names: Mapping[int | None, str], file: str) -> list[str]:
    """Return the row of a call. names: of communicators; file: of all lines, if there is one."""
    return [
        str(row.number),
        ms_text(row.began_ms),
        row.name,
        peer_text(row),
        tag_text(row),
        count_text(row.num_bytes),
        names.get(row.communicator, ""),
        row.place.rpartition(":")[2] if file else row.place,
        _state_text(row),
    ]


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
        told.append("further calls were lost, because there were too many")
    return f"rank {rank}: {', '.join(told)}"


def _state_text(row: Row) -> str:
    """Return how a call ended, and where or after how long."""
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


Said = TypeVar("Said")
Whose = TypeVar("Whose")
_MIN_WIDTH = 60
"""Leaves room for words next to three figures of any length."""


def trace_page(traced: Traced, page: Page, limit: int) -> str:
    """Return the page in lines that fit, 60 at least; limit: rows of each rank, 0 for all."""
    page = replace(page, width=max(page.width, _MIN_WIDTH))
    trace = traced.trace
    rows = [rows_of(rank, seen, traced.chosen.began_ns) for rank, seen in enumerate(trace.ranks)]
    blocks = [_head(page, traced)]
    if any(rows):
        blocks += [
            _ranks(page, figures_of(trace, rows)),
            _edges(page, edges_of(trace), len(rows)),
            _collectives(page, rows),
            _communicators(page, rows),
            _calls(page, trace, rows, limit),
        ]
    else:
        blocks.append(page.paragraph(_why_empty(traced), first=""))
    blocks += [_reason(page, traced.chosen), _tests(page, traced), _others(page, traced)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _why_empty(traced: Traced) -> str:
    if any(seen.truncated for seen in traced.trace.ranks):
        return "This case made too many calls to keep."
    if not traced.chosen.num_others:
        return "No rank called MPI or torch.distributed."
    number = traced.chosen.num_others
    others = "1 other call is" if number == 1 else f"{number:,} other calls are"
    return f"No call is relevant to this part's rules; {others} not shown."


def _head(page: Page, traced: Traced) -> list[str]:
    case = traced.chosen
    title = (
        f"{traced.assignment}, {traced.part}, case {case.number} of {len(traced.cases)}: "
        f"{one_line(case.label)}"
    )
    lines = [page.paint(line, BOLD) for line in page.paragraph(one_line(title), first="")]
    lines += page.paragraph(one_line(traced.submission), first="")
    return lines + page.paragraph(_launch_text(case), first="")


def _launch_text(case: TracedCase) -> str:
    started = f"{counted(case.ranks, 'rank')}, started by {case.test.removeprefix('test_')}"
    return f"launch {case.launch}: {started}" + f", with our {case.stand_in}" * bool(case.stand_in)


def _numbers(*titles: str) -> list[Column]:
    return [Column(title, is_number=True) for title in titles]


def _together(said: Iterable[tuple[Whose, Said]]) -> dict[Said, list[Whose]]:
    """Group those of which the same is said."""
    found: dict[Said, list[Whose]] = {}
    for whose, each in said:
        found.setdefault(each, []).append(whose)
    return found


def _figures(messages: Messages) -> list[str]:
    figures = (messages.number, messages.num_bytes, messages.largest_num_bytes)
    return [count_text(figure) if messages.number else "" for figure in figures]


def _ranks(page: Page, figures: Sequence[Figures]) -> list[str]:
    columns = [
        Column("rank"),
        *_numbers("calls", "sent", "bytes", "received", "bytes", "collectives", "bytes"),
        *_numbers("not completed"),
    ]
    cells = [
        [
            number_runs(ranks, sign=""),
            count_text(each.num_calls),
            *_figures(each.sent)[:2],
            *_figures(each.received)[:2],
            *_figures(each.collectives)[:2],
            count_text(each.num_unfinished or None),
        ]
        for each, ranks in _together(enumerate(figures)).items()
    ]
    return _table(page, columns, cells)


def _table(page: Page, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = aligned(columns, cells, page.width)
    return [page.paint(head, DIM), *rest]


def _edges(page: Page, edges: Mapping[tuple[int, int], Messages], num_ranks: int) -> list[str]:
    if not edges:
        return []
    grouped = _together(edges.items())
    columns = _numbers("messages", "bytes", "largest")
    head, *rest = aligned(columns, [_figures(each) for each in grouped], page.width)
    lines = [page.paint(f"{head}  from -> to", DIM)]
    for figures, pairs in zip(rest, grouped.values(), strict=True):
        lines += page.paragraph(_pairs_text(pairs, num_ranks), first=f"{figures}{INDENT}")
    return lines


def _pairs_text(pairs: Sequence[tuple[int, int]], num_ranks: int) -> str:
    """Return pairs of ranks in words where these are shorter, else as `0 -> 1, 1 -> 2`."""
    ranks, found = range(num_ranks), set(pairs)
    if num_ranks > 2:
        patterns = {
            "each rank -> every other": {(a, b) for a in ranks for b in ranks if a != b},
            "each rank -> the next": {(rank, (rank + 1) % num_ranks) for rank in ranks},
            "each rank -> the previous one": {(rank, (rank - 1) % num_ranks) for rank in ranks},
        }
        for rank in ranks:
            others = set(ranks) - {rank}
            patterns[f"{rank} -> every other"] = {(rank, other) for other in others}
            patterns[f"every other -> {rank}"] = {(other, rank) for other in others}
        for text, pattern in patterns.items():
            if found == pattern:
                return text
    return ", ".join(f"{source} -> {destination}" for source, destination in pairs)


def _collectives(page: Page, rows: Sequence[Sequence[Row]]) -> list[str]:
    found = ((rank, (name, calls)) for (name, rank), calls in collectives_of(rows).items())
    columns = [Column("collective"), *_numbers("calls", "bytes", "largest"), Column("rank")]
    cells = [
        [name, *_figures(calls), number_runs(ranks, sign="")]
        for (name, calls), ranks in _together(found).items()
    ]
    return _table(page, columns, cells) if cells else []


def _communicators(page: Page, rows: Sequence[Sequence[Row]]) -> list[str]:
    """Return what the names in the column `comm` mean, if there is such a column."""
    known = communicators_of(rows).values()
    each = ", ".join(f"{each.name} of {counted(each.size, 'rank')}" for each in known)
    return page.paragraph(f"communicators: {each}", first="") if len(known) > 1 else []


def _reason(page: Page, case: TracedCase) -> list[str]:
    """Return why a case has no outcome, in the words of a report."""
    failure = case.failure
    return [page.verdict(failure.verdict), *page.message(failure.message)] if failure else []


def _tests(page: Page, traced: Traced) -> list[str]:
    """Return the verdicts of the tests, and which case made a test fail."""
    lines = []
    for test in traced.tests:
        text = f"{VERDICT_WORDS[test.verdict]} {test.name.removeprefix('test_')}"
        case = next((case for case in traced.cases if case.ends(test)), None)
        if case is not None:
            text += f": see case {case.number}"
        lines += page.paragraph(one_line(text), first=f"{page.sign(test.verdict)} ")
        if test.verdict is not Verdict.ACCEPTED and case is None:
            lines += page.message(test.message, INDENT * 2)
    return lines


def _others(page: Page, traced: Traced) -> list[str]:
    """Return all cases but the chosen one, by launch."""
    others = [case for case in traced.cases if case.number != traced.chosen.number]
    if not others:
        return []
    columns = [
        *_numbers("case", "calls"),
        Column("label", is_cut_at_start=True),
        Column("ended by"),
    ]
    cells = [
        [
            str(case.number),
            count_text(case.num_calls),
            case.label,
            case.failure.verdict if case.failure else "",
        ]
        for case in others
    ]
    head, *rest = aligned(columns, cells, page.width - len(INDENT))
    lines = page.paragraph("Other cases (--case NUMBER shows one):", first="")
    lines.append(page.paint(f"{INDENT}{head}", DIM))
    told = zip(others, rest, strict=True)
    for _, found in groupby(told, key=lambda each: each[0].launch):
        listed = list(found)
        lines += page.paragraph(_launch_text(listed[0][0]), first="")
        lines += (f"{INDENT}{line}" for _, line in listed)
    return lines
