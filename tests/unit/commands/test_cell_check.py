"""`grader.check` in a cell: a page in a notebook, text elsewhere, and no notebook is needed."""

import html
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import grader
from grader.model.errors import UsageError

TEMPLATE = Path(__file__).resolve().parents[3] / "student_template" / "mpi_sgd"


class Frames(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_part_is_checked_and_shown_both_ways():
    """The page is in a frame in which no script may run."""
    found = grader.check("ring_allreduce", TEMPLATE)
    assert not found.has_full_marks
    assert "not written" in repr(found)
    assert "0 of 25 points in" in repr(found)
    assert "\x1b" not in repr(found)
    frames = Frames()
    frames.feed(found._repr_html_())
    ((tag, attributes),) = frames.found
    assert (tag, attributes["sandbox"]) == ("iframe", None)
    assert attributes["srcdoc"].startswith("<!DOCTYPE html>")
    assert "ring_allreduce" in html.unescape(attributes["srcdoc"])
    base = '<base href="about:srcdoc">'
    assert attributes["srcdoc"].index(base) < attributes["srcdoc"].index("Content-Security-Policy")


def test_what_cannot_be_graded_is_told_in_the_words_of_the_command():
    with pytest.raises(UsageError, match=r"has no part 'ring'; .* Did you mean ring_allreduce"):
        grader.check("ring", TEMPLATE)


def test_importing_it_imports_nothing_of_the_engine():
    """Every process of the engine begins with it."""
    program = "import sys, grader; print([name for name in sys.modules if 'grader.' in name])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ
    )
    assert done.stdout == "[]\n"
