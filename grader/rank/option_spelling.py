"""Lets a script's argparse take `--a-b` for an option defined as `--a_b`, and the reverse."""

import argparse
import contextlib
import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from .toolbox import replaced


@contextlib.contextmanager
def either_spelling(respelt: dict[str, str]) -> Iterator[None]:
    """Give every parser its own spelling of the options on the command line, for a while.

    What a parser understands without that, abbreviations included, it gets as it was given.
    respelt: gets each option that was given in another spelling, and the parser's own.
    """
    parse = argparse.ArgumentParser.parse_known_args

    # The one function that parse_args, the intermixed ones and subparsers call.
    @functools.wraps(parse)
    def parse_known_args(parser: Any, args: Any = None, *others: Any, **named: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        return parse(parser, _in_own_spelling(parser, words, respelt), *others, **named)

    with replaced(argparse.ArgumentParser, "parse_known_args", parse_known_args):
        yield


def _in_own_spelling(parser: Any, words: Sequence[Any], respelt: dict[str, str]) -> list[Any]:
    """Return the words of a command line as a parser spells its options, up to a `--`."""
    end = words.index("--") if "--" in words else len(words)
    own = list(words)
    for number, word in enumerate(words[:end]):
        name, *value = word.split("=", 1) if isinstance(word, str) else ("",)
        spelt = _own_name(parser, name) if name.startswith("--") else name
        if spelt != name:
            respelt[name] = spelt
            own[number] = "=".join((spelt, *value))
    return own


def _own_name(parser: Any, name: str) -> str:
    """Return what a parser calls an option; the name as it is, where that is not one option."""
    defined = list(parser._option_string_actions)
    same = [each for each in defined if _folded(each) == _folded(name)]
    if parser.allow_abbrev:
        if any(each.startswith(name) for each in defined):
            return name
        same = same or [each for each in defined if _folded(each).startswith(_folded(name))]
    return same[0] if len(same) == 1 else name


def _folded(name: str) -> str:
    return name.replace("_", "-")
