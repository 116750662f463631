"""How the command line answers: its overview, and two lines for what it does not understand."""

import argparse
import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from grader.model.spelling import did_you_mean

Help = Mapping[str, Mapping[str, str]]
"""Of each group of commands: what each command does."""

_UNKNOWN = re.compile(r"argument COMMAND: invalid choice: '(.*?)' \(")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


class Parser(argparse.ArgumentParser):
    """Says a usage error in two lines, and keeps its exit code where it cannot be printed.

    argparse of Python 3.11.2 raises there.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        self.names: tuple[str, ...] = ()
        """The commands below this one."""

    def error(self, message: str) -> NoReturn:
        """Exit with what is wrong, and where help is."""
        if unknown := _UNKNOWN.match(message):
            meant = did_you_mean(unknown[1], self.names)
            message = f'unknown command "{unknown[1]}"{meant or "."}'
        command = self.prog.partition(" ")[2]
        help_text = f"grade help {command}".rstrip()
        message = message.removeprefix("argument ").rstrip()
        self.exit(2, f"{self.prog}: {message}\nRun `{help_text}` for help.\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit with an argument that the command does not take."""
        options = _OPTION.findall(self.format_help())
        name = unknown[0].partition("=")[0]
        kind = "option" if name.startswith("-") else "argument"
        self.error(f'unknown {kind} "{name}"{did_you_mean(name, options) or "."}')

    def _print_message(self, message: str, file: Any = None) -> None:
        with contextlib.suppress(OSError):
            super()._print_message(message, file)


def add_commands(whole: Parser, groups: Help) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands, by name."""
    below = whole.add_subparsers(
        prog=whole.prog, required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    whole.names = tuple(name for commands in groups.values() for name in commands)
    return {
        name: below.add_parser(name, description=f"{does[:1].upper()}{does[1:]}.")
        for commands in groups.values()
        for name, does in commands.items()
    }


def overview(groups: Help) -> str:
    """Return what each command does, group by group."""
    return "\n\n".join(
        "\n".join([f"{group}:", *(f"  {name:<10}{does}" for name, does in commands.items())])
        for group, commands in groups.items()
    )


def short_screen(groups: Help) -> str:
    """Return what `grade` alone shows: the commands of the first group."""
    group, commands = next(iter(groups.items()))
    return (
        f"usage: grade COMMAND ...\n\n{overview({group: commands})}\n\n"
        "Run `grade help` for all commands, and `grade help COMMAND` for one."
    )


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `help` and `version` as the options that they stand for."""
    match list(arguments):
        case ["help", *command]:
            return [*command[:1], "--help"]
        case ["version"]:
            return ["--version"]
        case others:
            return others
