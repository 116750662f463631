"""Reads the commands of a page, runs them in one shell, and compares what they print.

A block ```` ```console ```` holds lines `$ COMMAND`, lines `> ...` that go on with it, and below
them what it prints: `...` stands for anything. A comment in front of a block says what it is else.
In a block ```` ```sh ```` each line is a command, to be pasted as it stands.

    <!-- not run: REASON -->      nobody runs it here
    <!-- exit codes: 0 1 -->      what the commands of a block ```` ```sh ```` end with
    <!-- output of: COMMAND -->   the block is what that prints
    <!-- times differ -->         numbers with two decimals are not compared

and `<!-- run: COMMAND -->` is a step that readers do by hand, such as writing a file.
"""

import difflib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from this_checkout import GRADE, ROOT, TAG

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "tests" / "sheets").glob("*.md")),
    ROOT / "ci" / "README.md",
)
LIMIT_S = 600

_COMMENT = re.compile(r"<!-- (not run|exit codes|output of|times differ|run)(?:: (.+))? -->")
_FENCE = re.compile(r"```(\S*)")
_COMMANDS = re.compile(
    r"^ *(\$ |(\w+=\S* )*(grade|docker|podman|make|pip|python3?|git|curl) )", re.M
)
_OUR_GRADE = f'#!/bin/sh\nexec {shlex.join(GRADE)} "$@"\n'
_DOCKER_WITH_OUR_IMAGES = f"""#!/bin/sh
for word; do
    shift
    case $word in grade | grade-student) word=$word:{TAG} ;; esac
    set -- "$@" "$word"
done
PATH=${{PATH#*:}}
exec docker "$@"
"""
"""Pages name the images of `make image`, which another checkout may have built anew meanwhile."""
_SHELLS = ("console", "bash", "sh", "shell", "powershell")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and what the comments in front of it say."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    comments: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def has_commands(self) -> bool:
        """Whether a reader would type what it holds."""
        in_words = not self.language or self.language == "text"
        return self.language in _SHELLS or (
            in_words and _COMMANDS.search("\n".join(self.lines)) is not None
        )

    @property
    def is_run(self) -> bool:
        return "not run" not in self.comments and (
            self.language in ("console", "sh") or "output of" in self.comments
        )


@dataclass(frozen=True)
class Step:
    """A command; `shown` is what the page says that it prints, None where it says nothing."""

    where: str
    command: str
    shown: str | None = None
    times_differ: bool = False
    exit_code: int = 0


def blocks(page: Path) -> Iterator[Block | Step]:
    """Yield the blocks of a page, and in between the steps that only comments hold."""
    comments: dict[str, str] = {}
    begin, language, held = 0, "", list[str]()
    for number, line in enumerate(page.read_text().splitlines(), 1):
        text = line.strip()
        if begin and text == "```":
            yield Block(page, begin, language, tuple(held), comments)
            begin, comments = 0, {}
        elif begin:
            held.append(text)
        elif opened := _FENCE.fullmatch(text):
            begin, language, held = number, opened[1], []
        elif found := _COMMENT.fullmatch(text):
            if found[1] == "run":
                yield Step(f"{page.relative_to(ROOT)}:{number}", found[2])
            else:
                comments[found[1]] = found[2] or ""
        elif text:
            comments = {}
    assert not begin, f"{page}:{begin}: this block has no end"


def steps(page: Path) -> tuple[Step, ...]:
    """Return what is to be run of a page, in its order."""
    found = list[Step]()
    for each in blocks(page):
        if isinstance(each, Step):
            found.append(each)
        elif each.is_run:
            found += _steps_of(each)
    return tuple(found)


def _steps_of(block: Block) -> Iterator[Step]:
    times_differ = "times differ" in block.comments
    if "output of" in block.comments:
        shown = "\n".join(block.lines)
        yield Step(block.name, block.comments["output of"], shown, times_differ)
        return
    if block.language == "sh":
        codes = map(int, block.comments.get("exit codes", "0 " * len(block.lines)).split())
        for line, code in zip(block.lines, codes, strict=True):
            yield Step(block.name, line, exit_code=code)
        return
    command, shown = list[str](), list[str]()
    for line in (*block.lines, "$ "):
        if line.startswith("$ ") or line == "$":
            if command:
                text = "\n".join(shown).strip("\n")
                yield Step(block.name, "\n".join(command), text or None, times_differ)
            command, shown = [line[2:]], []
        elif line.startswith("> ") and not shown:
            command.append(line[2:])
        else:
            shown.append(line)


def problems(page_steps: Sequence[Step], folder: Path) -> list[str]:
    """Run the steps in one shell that starts in the folder; return what is not as the page says.

    A command must end with its exit code, unless the next one is `echo $?`.
    """
    work, own = folder / "work", folder / "own"
    for each in (work, own / "bin"):
        each.mkdir(parents=True, exist_ok=True)
    programs = {"grade": _OUR_GRADE, "docker": _DOCKER_WITH_OUR_IMAGES}
    for name, text in programs.items():
        (own / "bin" / name).write_text(text)
        (own / "bin" / name).chmod(0o755)
    lines = []
    for number, step in enumerate(page_steps):
        lines += [
            f"{{ {step.command}\n}} >{own}/{number}.out 2>{own}/{number}.err </dev/null",
            f"status=$?; echo $status >{own}/{number}.status; (exit $status)",
        ]
    settings = {name: text for name, text in os.environ.items() if not name.startswith("GRADER_")}
    path = os.pathsep.join([str(own / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=work,
        env={**settings, "PATH": path, "PYTHONPATH": str(ROOT), "CHECKOUT": str(ROOT)},
        timeout=LIMIT_S,
        check=False,
    )
    following = [step.command for step in page_steps[1:]] + [""] * bool(page_steps)
    found = []
    for number, (step, after) in enumerate(zip(page_steps, following, strict=True)):
        status, out, err = (
            file.read_text() if (file := own / f"{number}.{kind}").is_file() else ""
            for kind in ("status", "out", "err")
        )
        said = f"{step.where}: $ {step.command}"
        if not status:
            return [*found, f"{said}\nwas not run to its end\n{out}{err}"]
        if status.strip() != str(step.exit_code) and not after.startswith("echo $?"):
            found.append(f"{said}\nended with {status.strip()}\n{out}{err}")
        printed = out if out.strip() else err
        if step.shown is not None and not _is_as_shown(step, printed):
            found.append(f"{said}\nprints something else\n{_difference(step.shown, printed)}")
    return found


def _is_as_shown(step: Step, printed: str) -> bool:
    """Compare line by line: a line `...` is any lines, or none, and elsewhere any characters."""
    pattern = ""
    for line in _plain(step.shown or "").splitlines():
        wanted = re.escape(line).replace(r"\.\.\.", ".*")
        if step.times_differ:
            wanted = re.sub(r"\d+\\\.\d\d\b", lambda _: r"\d+\.\d\d", wanted)
        pattern += r"(?:.*\n)*?" if line == "..." else f"{wanted}\n"
    return re.fullmatch(pattern, f"{_plain(printed)}\n") is not None


def _plain(text: str) -> str:
    """Return a text whose columns may be of any width."""
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _difference(shown: str, printed: str) -> str:
    both = (_plain(text).splitlines() for text in (shown, printed))
    return "\n".join(difflib.unified_diff(*both, "shown", "printed", lineterm=""))
