"""A check in a cell of a notebook: grades what is saved, in a process of its own."""

import html as markup
import subprocess
import sys
from dataclasses import dataclass
from os import PathLike, fspath

from grader.model.errors import GraderError, UsageError
from grader.model.report import Report
from grader.report import html, json_report, terminal

_WIDTH = 100
_NUM_LINES_SHOWN = 30


@dataclass(frozen=True, repr=False)
class CellCheck:
    """What a check has found; a notebook shows it as a page, all else as text."""

    report: Report

    def __repr__(self) -> str:
        return terminal.render(self.report, colour=False, width=_WIDTH, plain=False)

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, in which nothing runs."""
        page = markup.escape(html.render(self.report, is_in_frame=True), quote=True)
        style = f"width:100%;height:{_NUM_LINES_SHOWN}em;border:0"
        return f'<iframe sandbox srcdoc="{page}" style="{style}" title="grade check"></iframe>'


def check(part: str | None, submission: str | PathLike[str]) -> CellCheck:
    """Grade a folder as `grade check` does. Raises UsageError, GraderError with its words."""
    selected = [] if part is None else ["--part", part]
    # Without the notebook's folder: a student's file may be called as one of Python's.
    grade = [sys.executable, "-P", "-m", "grader"]
    command = [*grade, "check", fspath(submission), *selected, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if not done.stdout:
        kind = UsageError if done.returncode == UsageError.exit_code else GraderError
        lines = [line for line in done.stderr.splitlines() if line.startswith("grade: ")]
        raise kind(*(line.removeprefix("grade: ") for line in lines or ["nothing was graded"]))
    return CellCheck(json_report.parse(done.stdout))
