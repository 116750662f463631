r"""Makes text that may stem from a submission safe to show: nothing hidden, nothing that commands.

Whatever a terminal, a log viewer or a CI runner would obey is shown as an escape such as `\x1b`:
control characters, bidirectional overrides, invisible characters, and the beginnings of the
commands that CI runners look for in what a job prints. JSON is ASCII, and escapes these as well.
"""

import functools
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_MAX_MARKS = 3
"""Combining marks on one letter; real writing needs two, and stacks of them cover other lines."""
_MARKS = ("Mn", "Me")
_SHOWS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Printable by their category, and yet invisible: fillers, joiners, variation selectors."""
_COMMAND_ANYWHERE = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))")
_COMMAND_AT_START = re.compile(r"^(\s*):(?=:)")
_TAB_NUM_COLUMNS = 4
_MAX_SENTENCE_CHARS = 2000
_MAX_LINE_CHARS = 400


def visible(text: str) -> str:
    """Return the text with every character that shows nothing as its escape, newlines included."""
    # Most of what a report shows is plain, and a report shows much.
    shown = text if text.isascii() and text.isprintable() else "".join(_shown(text))
    return _COMMAND_ANYWHERE.sub(lambda match: _escape(match[0]), shown)


def _shown(text: str) -> Iterator[str]:
    num_marks = 0
    for char in text:
        is_mark, is_shown = _kind(char)
        num_marks = num_marks + 1 if is_mark else 0
        yield char if is_shown and num_marks <= _MAX_MARKS else _escape(char)


# A text of a million characters has few different ones.
@functools.lru_cache(1 << 12)
def _kind(char: str) -> tuple[bool, bool]:
    """Return whether a character is a mark on another one, and whether it shows anything."""
    is_shown = char.isprintable() and not _SHOWS_NOTHING.match(char)
    return unicodedata.category(char) in _MARKS, is_shown


def one_line(text: str, max_num_chars: int = _MAX_SENTENCE_CHARS) -> str:
    """Return a sentence as one visible line of at most about `max_num_chars` characters."""
    return shorten(visible(" ".join(text.split())), max_num_chars)


def visible_lines(text: str) -> list[str]:
    """Return the lines of an output or traceback, each visible and of bearable length."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [shorten(visible(line.expandtabs(_TAB_NUM_COLUMNS)), _MAX_LINE_CHARS) for line in lines]


def shorten(text: str, max_num_chars: int) -> str:
    """Return the text, or its beginning and how much is left out."""
    if len(text) <= max_num_chars:
        return text
    return f"{text[:max_num_chars]}... ({len(text) - max_num_chars} more characters)"


def disarm(line: str) -> str:
    """Return a visible line such that a CI runner does not take it for a command."""
    return _COMMAND_AT_START.sub(lambda match: match[1] + _escape(":"), line)


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_COMMAND = re.compile("[<>&]|#(?=#)")
"""What ends a script in a page, and what begins a command to a CI runner: only in strings."""


def dump(data: Any) -> str:
    """Return the data as JSON; the keys come in the order of the data. Texts may hold anything."""
    text = json.dumps(_valid(data), indent=2, allow_nan=False)
    return _COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def number(number: float, num_decimals: int = 9) -> float:
    """Return points without the noise of binary fractions, as an integer where they are one.

    Sums are rounded to fewer decimals than their terms, so that rounded terms have the same sum.
    """
    rounded = round(float(number), num_decimals)
    return int(rounded) if rounded.is_integer() else rounded


def _valid(data: Any) -> Any:
    """Return the data with lone surrogates, which are no valid JSON, as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {key: _valid(value) for key, value in data.items()}
    return [_valid(value) for value in data] if isinstance(data, list) else data
