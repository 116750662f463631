"""Takes the detail of a failure apart: the traceback, and what each rank printed last."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.judge.wording import ranks_text
from grader.report.safe_text import visible_lines

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
        """Return as many lines: of an output the last, of a traceback the first and the last."""
        if self.is_output:
            return last_lines(self.lines, num_output_lines)
        return first_and_last(self.lines, num_traceback_lines)


def evidence(detail: str) -> list[Evidence]:
    """Return the pieces of a detail; ranks that printed the same are told together."""
    traceback, *outputs = _LAST_OUTPUT.split(detail)
    ranks_by_output: dict[str, list[int]] = {}
    for rank, output in zip(outputs[::2], outputs[1::2], strict=True):
        ranks_by_output.setdefault(output.strip("\n"), []).append(int(rank))
    pieces = [
        Evidence(f"last output of {ranks_text(ranks)}", tuple(visible_lines(output)), True)
        for output, ranks in ranks_by_output.items()
    ]
    if traceback.strip():
        is_traceback = 'File "' in traceback
        heading = "traceback" if is_traceback else "detail"
        lines = tuple(visible_lines(traceback.strip("\n")))
        return [Evidence(heading, lines, False), *pieces]
    return pieces


def last_lines(lines: Sequence[str], max_num_lines: int) -> list[str]:
    """Return the last lines, after one that says how many are left out."""
    left_out = len(lines) - max_num_lines
    if left_out <= 1:
        return list(lines)
    return [f"... ({left_out} lines before)", *lines[left_out:]]


def first_and_last(lines: Sequence[str], max_num_lines: int) -> list[str]:
    """Return the lines of a traceback: where it begins and where it ends, not what lies between."""
    left_out = len(lines) - max_num_lines
    if left_out <= 1:
        return list(lines)
    num_first = max_num_lines // 3
    return [
        *lines[:num_first],
        f"... ({left_out} lines between)",
        *lines[num_first + left_out :],
    ]
