"""What a student reads in 80 columns: of eight faults, one at a time, and of full marks.

Each page lies in report_layouts/. After a change, such as of a price, write them anew and read the
difference: GRADER_WRITE_GOLDEN=1 python -m pytest tests/test_report_layouts.py
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.addons.authoring.verification.labels import FILE
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.report import terminal
from grader.report.feedback import for_student
from grader.report.terminal_page import num_columns

HERE = Path(__file__).parent
PAGES = HERE / "report_layouts"
IS_WRITING = os.environ.get("GRADER_WRITE_GOLDEN") == "1"
NUM_COLUMNS = 80
MOST_LINES_OF_A_FAULT, MOST_LINES_OF_FULL_MARKS = 25, 12
VOLATILE = re.compile(r"(?<=Python )3\.\d+|\d+(\.\d+)?(?= (?:s|ms|MiB)\b)")
"""The Python that runs the tests, times, and sizes of memory."""
COMMANDS = ("  again:", "  look:")
"""Lines to be copied, which are not wrapped."""
PRICE = re.compile(r"costs ([\d.]+) of ")


@dataclass(frozen=True)
class Layout:
    """A page, and what was handed in."""

    name: str
    folder: str
    """Below tests/."""
    begins: str
    """Part and verdict of the costliest cause."""
    slip: tuple[str, str] = ("", "")
    """What is written in place of the first such text of the only file."""

    @property
    def assignment(self) -> str:
        """Return the assignment that it is handed in for."""
        return "vgg_ddp" if "/vgg_ddp/" in self.folder else "mpi_sgd"

    @property
    def page(self) -> Path:
        """Return the file that the page is kept in."""
        return PAGES / f"{self.name}.txt"

    def lines(self) -> list[str]:
        """Return the lines of the page that is kept."""
        return self.page.read_text(encoding="utf-8").splitlines()


FAULTS = (
    Layout(
        "deadlock",
        "submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side",
        "✗ ring_allreduce  deadlock",
    ),
    Layout(
        "wrong_answer",
        "submissions/wrong_answer/mpi_sgd/ring_tail_dropped",
        "✗ ring_allreduce  wrong answer",
    ),
    Layout(
        "rule_broken",
        "submissions/rule_violation/mpi_sgd/ring_sendrecv",
        "✗ ring_allreduce  rule broken",
    ),
    Layout(
        "syntax_error",
        "submissions/run_time_error/mpi_sgd/ring_syntax_error",
        "✗ ring_allreduce  does not start",
    ),
    Layout(
        "name_error",
        "submissions/accepted/mpi_sgd/ring_isend_irecv",
        "✗ ring_allreduce  crash",
        ("range(size", "range(sze"),
    ),
    Layout(
        "not_written",
        "submissions/not_attempted/mpi_sgd/ring_not_implemented_yet",
        "○ ring_allreduce  not written",
    ),
    Layout(
        "reply_before_step",
        "submissions/wrong_answer/mpi_sgd/async_stale_reply",
        "✗ async_masters  wrong answer",
    ),
    Layout(
        "torch_deadlock",
        "submissions/deadlock/vgg_ddp/allreduce_rank_0_left_out",
        "✗ allreduce  deadlock",
    ),
)
FULL_MARKS = Layout("full_marks", "../reference/mpi_sgd", "✓ sync_collective  15 / 15")
LAYOUTS = (*FAULTS, FULL_MARKS)
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)


@pytest.fixture
def rendered(ranks, tmp_path, monkeypatch):
    """Return what a student sees who hands in the files of a layout, and nothing else."""

    def render(layout):
        # Its name stands in the commands of the page, so it must not be a path of this machine.
        monkeypatch.chdir(tmp_path)
        work, folder = Path("my_work"), HERE / layout.folder
        shutil.copytree(folder, work, ignore=shutil.ignore_patterns(FILE, "__pycache__"))
        if any(layout.slip):
            (file,) = work.iterdir()
            file.write_text(file.read_text().replace(*layout.slip, 1))
        settings = Settings(launch=ranks.launcher(layout.assignment))
        report = for_student(pipeline.grade(work, settings=settings))
        return terminal.render(report, colour=False, width=NUM_COLUMNS, plain=False)

    return render


@each_layout
def test_a_grading_leads_to_the_page_that_is_kept(layout, rendered):
    """So that the other tests need not grade again."""
    page = VOLATILE.sub("N", rendered(layout)) + "\n"
    if IS_WRITING:
        layout.page.write_text(page, encoding="utf-8")
    assert page == layout.page.read_text(encoding="utf-8")


def test_every_page_that_is_kept_has_its_layout():
    assert sorted(PAGES.iterdir()) == sorted(each.page for each in LAYOUTS)


@each_layout
def test_no_line_is_wider_than_a_terminal(layout):
    lines = [line for line in layout.lines() if not line.startswith(COMMANDS)]
    assert max(map(num_columns, lines)) <= NUM_COLUMNS


@pytest.mark.parametrize("layout", FAULTS, ids=lambda layout: layout.name)
def test_one_fault_is_told_in_one_screen(layout):
    assert len(layout.lines()) <= MOST_LINES_OF_A_FAULT


def test_full_marks_are_told_in_few_lines():
    assert len(FULL_MARKS.lines()) <= MOST_LINES_OF_FULL_MARKS


@each_layout
def test_the_first_line_names_the_costliest_cause(layout):
    """Or, with full marks, the first part."""
    first, *others = layout.lines()
    assert first.startswith(layout.begins)
    prices = [float(price) for price in PRICE.findall("\n".join([first, *others]))]
    assert prices == sorted(prices, reverse=True)
    assert bool(PRICE.search(first)) == bool(prices)
