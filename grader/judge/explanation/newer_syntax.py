"""Recognises syntax of a newer Python than the running one, by its error and its line."""

import re
from dataclasses import dataclass

Version = tuple[int, int]


@dataclass(frozen=True)
class Sign:
    """What shows in an error of syntax that a line was written for a newer Python."""

    since: Version
    what: str
    """As a noun."""
    remedy: str
    """As a sentence."""
    pattern: re.Pattern[str]
    """Of the error's message, a newline and the line."""


def newer_syntax(message: str, line: str, running: Version) -> Sign | None:
    """Return the sign that a line is of a newer Python than the running one, None for no sign."""
    text = f"{message}\n{line}"
    return next(
        (sign for sign in _SIGNS if sign.since > running and sign.pattern.search(text)), None
    )


def _sign(since: Version, what: str, remedy: str, *patterns: str) -> Sign:
    return Sign(since, what, remedy, re.compile("|".join(patterns), re.MULTILINE))


def _string_in_braces(quote: str) -> str:
    """Return the pattern of an f-string with a string of the same quotes where one can begin."""
    other = f"[^{quote}\n]*"
    before = rf"(?:[^{quote}}}\n]*[\[({{,:=+*/%<>|&^ -])?[fFrRbB]{{0,2}}"
    return rf"\b[rR]?[fF][rR]?{quote}{other}?(?<!{{)\{{(?!{{){before}{quote}{other}{quote}.*\}}"


_SIGNS = (
    _sign(
        (3, 12),
        "quotes of the same kind inside an f-string",
        "Use other quotes there.",
        _string_in_braces('"'),
        _string_in_braces("'"),
    ),
    _sign(
        (3, 12),
        "a backslash inside the braces of an f-string",
        "Assign that text to a variable first.",
        "f-string expression part cannot include a backslash",
    ),
    _sign(
        (3, 12),
        "a comment inside the braces of an f-string",
        "Move the comment above the string.",
        "f-string expression part cannot include '#'",
    ),
    _sign(
        (3, 12),
        "a `type` statement",
        "Write NAME = ... without `type`.",
        r"^\s*type\s+\w+\s*(?:\[.*\]\s*)?=(?!=)",
    ),
    _sign(
        (3, 12),
        "type parameters in brackets",
        "Use typing.TypeVar, or leave them out.",
        r"^\s*(?:class|(?:async\s+)?def)\s+\w+\s*\[",
    ),
    _sign(
        (3, 14),
        "several exceptions without parentheses",
        "Put them in parentheses.",
        r"^\s*except\*?\s+[\w.]+\s*(?:,\s*(?:\w+\.)*[A-Z]\w*\s*)+:",
    ),
    _sign(
        (3, 14),
        "a t-string",
        "Use an f-string.",
        r"""(?<!['"\w])(?:[tT][rR]?|[rR][tT])(["']).*\{.*\}.*\1""",
    ),
)
