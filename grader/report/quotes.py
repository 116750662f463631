"""What is shown beside a cause: the student's lines with carets, and what was printed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.model.evidence import MarkedLine, SourceExcerpt
from grader.report.safe_text import disarm, one_line, visible, visible_lines
from grader.report.terminal_page import INDENT, Page, end_of, fitting, num_columns
from grader.trace.call_formatting import ranks_text

_TAB_NUM_COLUMNS = 4
_FEWEST_COLUMNS = 20
_MOST_LINES = 6
_CUT = "..."


def code_lines(page: Page, excerpts: Sequence[SourceExcerpt], told: str) -> list[str]:
    """Return the marked lines of all excerpts, each file named before its own."""
    lines: list[str] = []
    left = _MOST_LINES
    for excerpt in excerpts:
        marked = [each for each in excerpt.lines if each.finding][:left]
        left -= len(marked)
        if marked:
            place = f"{one_line(excerpt.file)}:{marked[0].line}"
            lines.append(disarm(f"{INDENT}{end_of(place, page.width - len(INDENT))}"))
            lines += _excerpt(page, marked, told)
    return lines


def _excerpt(page: Page, marked: Sequence[MarkedLine], told: str) -> Iterator[str]:
    number_num_columns = max(len(str(each.line)) for each in marked)
    texts = [each.text.expandtabs(_TAB_NUM_COLUMNS) for each in marked]
    shared = min(len(text) - len(text.lstrip()) for text in texts)
    for each, text in zip(marked, texts, strict=True):
        first = f"{INDENT * 2}{each.line:>{number_num_columns}} | "
        under = f"{INDENT * 2}{' ' * number_num_columns} | "
        width = max(page.width - len(first), _FEWEST_COLUMNS)
        before = each.text[: each.column - 1] if each.column else ""
        start = max(0, len(before.expandtabs(_TAB_NUM_COLUMNS)) - shared) if each.column else 0
        length = each.num_columns or len(text.strip())
        code, start = _window(text[shared:], start, length, width)
        yield f"{first}{code}".rstrip()
        caret = "^" * max(1, min(length, len(code) - start))
        finding = one_line(each.finding)
        note = "" if finding in told else finding
        offset = num_columns(visible(code[:start]))
        yield from _note(page, f"{under}{' ' * offset}{caret}", note, under)


def _window(text: str, start: int, length: int, width: int) -> tuple[str, int]:
    """Return as much of a line as fits, with what is marked in it, and where that begins then."""
    shown = visible(text.rstrip())
    if shown != text.rstrip() or num_columns(shown) != len(shown):
        # Columns and characters are not the same here: the beginning has to do.
        return fitting(shown, width), min(start, width - 1)
    if len(shown) <= width:
        return shown, start
    if start + length <= width - len(_CUT):
        return f"{shown[: width - len(_CUT)]}{_CUT}", start
    begin = max(0, min(start, start + length - width + 2 * len(_CUT)))
    piece = shown[begin : begin + width - 2 * len(_CUT)]
    rest = _CUT if begin + len(piece) < len(shown) else ""
    return f"{_CUT}{piece}{rest}", start - begin + len(_CUT)


def _note(page: Page, caret: str, note: str, under: str) -> Iterator[str]:
    """Yield the caret with the note behind it, or below it where there is no room."""
    if not note:
        yield caret
    elif num_columns(caret) + 1 + num_columns(note) <= page.width:
        yield f"{caret} {note}"
    else:
        yield caret
        yield from page.paragraph(note, first=under)


_LAST_OUTPUT = re.compile(r"(?:\A|\n\n)last output of rank (\d{1,5}):\n")


@dataclass(frozen=True)
class Evidence:
    """Lines that were printed, and by whom."""

    heading: str
    """`last output of ranks 0 and 2`; `traceback` for what comes before the outputs."""
    lines: tuple[str, ...]
    """Visible, however many there are."""
    is_output: bool

    def abridged(self, *, num_traceback_lines: int, num_output_lines: int) -> list[str]:
        """Return as many lines, and one that says how many are left out.

        Of an output the last ones are kept; of a traceback also the first: its first line names
        the student's own call, its last one the error.
        """
        most = num_output_lines if self.is_output else num_traceback_lines
        left_out = len(self.lines) - most
        if left_out <= 1:
            return list(self.lines)
        num_first = 0 if self.is_output else most // 3
        told = f"... ({left_out} {'earlier lines' if self.is_output else 'lines left out'})"
        return [*self.lines[:num_first], told, *self.lines[num_first + left_out :]]


def evidence(detail: str, most_outputs: int | None = None) -> list[Evidence]:
    """Return the pieces of a detail; ranks that printed the same are told together."""
    traceback, *outputs = _LAST_OUTPUT.split(detail)
    ranks_by_output: dict[str, list[int]] = {}
    for rank, output in zip(outputs[::2], outputs[1::2], strict=True):
        ranks_by_output.setdefault(output.strip("\n"), []).append(int(rank))
    pieces = [
        Evidence(f"last output of {ranks_text(ranks)}", tuple(visible_lines(output)), True)
        for output, ranks in ranks_by_output.items()
    ][:most_outputs]
    if traceback.strip():
        heading = "traceback" if 'File "' in traceback else "detail"
        pieces.insert(0, Evidence(heading, tuple(visible_lines(traceback.strip("\n"))), False))
    return pieces
