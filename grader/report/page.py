"""How a report looks in a terminal: its width, its signs, and a colour on top where wanted."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.model.report import Verdict
from grader.report.safe_text import one_line
from grader.report.text_layout import num_columns, wrap
from grader.report.words import VERDICT_WORDS

BOLD, DIM, RED, GREEN, YELLOW, MAGENTA = "1", "2", "31", "32", "33", "35"
INDENT = "  "

_SIGNS = {
    Verdict.ACCEPTED: ("✓", "+"),
    Verdict.SKIPPED: ("~", "~"),
    Verdict.NOT_ATTEMPTED: ("○", "o"),
    Verdict.NOT_PROVEN: ("?", "?"),
    Verdict.JUDGE_ERROR: ("!", "!"),
}
_FAILED = ("✗", "x")
_COLOURS = {
    Verdict.ACCEPTED: GREEN,
    Verdict.SKIPPED: YELLOW,
    Verdict.NOT_ATTEMPTED: YELLOW,
    Verdict.NOT_PROVEN: YELLOW,
    Verdict.JUDGE_ERROR: MAGENTA,
}


@dataclass(frozen=True)
class Page:
    """What the terminal can show, and how much the reader wants to see."""

    colour: bool
    plain: bool
    """ASCII signs and no colour, whatever `colour` says."""
    width: int
    verbose: bool

    def paint(self, text: str, *codes: str) -> str:
        """Return the text in a colour, where there is colour."""
        if self.plain or not self.colour or not text:
            return text
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m"

    def verdict(self, verdict: Verdict) -> str:
        """Return sign and words of a verdict, in its colour."""
        return self.tinted(f"{self._sign(verdict)} {VERDICT_WORDS[verdict]}", verdict)

    def sign(self, verdict: Verdict) -> str:
        """Return the sign of a verdict, in its colour."""
        return self.tinted(self._sign(verdict), verdict)

    def paragraph(self, text: str, first: str = INDENT, later: str = "") -> list[str]:
        """Return wrapped text behind `first`, later lines behind `later` or as many spaces."""
        later = later or " " * num_columns(first)
        width = self.width - max(num_columns(first), num_columns(later))
        lines = wrap(text, width)
        return [f"{later if index else first}{line}" for index, line in enumerate(lines)]

    def message(self, text: str, first: str = INDENT) -> list[str]:
        """Return the message of a failure; of a deadlock with a line for each rank that waits."""
        before, found, chain = one_line(text).partition("deadlock: ")
        if "; " not in chain:
            return self.paragraph(f"{before}{found}{chain}", first)
        lines = self.paragraph(f"{before}deadlock:", first)
        for clause in chain.split("; "):
            lines += self.paragraph(clause, first + INDENT, first + INDENT * 2)
        return lines

    def quoted(self, lines: Iterable[str]) -> list[str]:
        """Return lines that a submission printed, marked as such."""
        bar = self.paint("|" if self.plain else "│", DIM)
        return [f"{INDENT}{bar} {line}".rstrip() for line in lines]

    def _sign(self, verdict: Verdict) -> str:
        return _SIGNS.get(verdict, _FAILED)[self.plain]

    def tinted(self, text: str, verdict: Verdict) -> str:
        """Return the text in the colour of a verdict."""
        return self.paint(text, BOLD, _COLOURS.get(verdict, RED))
