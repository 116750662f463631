"""Lays visible text out in columns of a terminal, where some characters are two columns wide."""

import unicodedata

from grader.report.safe_text import disarm


def num_columns(text: str) -> int:
    """Return how many columns a terminal needs for the text."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def wrap(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` columns, broken at spaces where there are any."""
    lines = []
    line = ""
    for word in text.split():
        if line and num_columns(line) + 1 + num_columns(word) <= width:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
        *full, line = cut(word, width)
        lines += full
    return [*lines, line] if line else lines


def cut(line: str, width: int) -> list[str]:
    """Return the line in pieces of at most `width` columns, its spaces kept; `width` is over 8."""
    pieces = []
    rest = disarm(line)
    while num_columns(rest) > width:
        piece = fitting(rest, width)
        pieces.append(piece)
        rest = disarm(rest[len(piece) :])
    return [*pieces, rest]


def fitting(text: str, width: int) -> str:
    """Return as much of the text's beginning as fits into `width` columns."""
    end = min(len(text), width)
    while num_columns(text[:end]) > width:
        end -= 1
    return text[:end]


def abridged(text: str, width: int) -> str:
    """Return the text, or a beginning of it and dots, in at most `width` columns."""
    if num_columns(text) <= width:
        return text
    return fitting(text, max(width - 3, 0)).rstrip() + "..."


def padded(text: str, width: int) -> str:
    """Return the text with spaces after it up to `width` columns."""
    return text + " " * (width - num_columns(text))
