"""Takes the detail of a failure apart: the traceback, and what each rank printed last."""

import re
from dataclasses import dataclass

from grader.report.safe_text import visible_lines
from grader.trace.call_formatting import ranks_text

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
        told = f"... ({left_out} lines {'before' if self.is_output else 'between'})"
        return [*self.lines[:num_first], told, *self.lines[num_first + left_out :]]


def evidence(detail: str, most_outputs: int | None = None) -> list[Evidence]:
    """Return the pieces of a detail; ranks that printed the same are told together.

    most_outputs: of more, the first ones; None for all.
    """
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
