"""A suite that cannot be read is told in one sentence: where, what is there, what to do."""

import os
import re
import sys
import time

import pytest

from grader.addons.authoring import skeleton
from grader.course.course import Course
from grader.course.courses import Courses
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.session import prices
from grader.model.errors import GraderError
from grader.model.report import Verdict


@pytest.fixture
def root(tmp_path):
    """Return a course with one assignment, whose suite is right."""
    skeleton.write(tmp_path, "sums")
    return tmp_path


def suite_in(root):
    return root / "tests/suites/sums/test_sum.py"


def refused(plan):
    raise AssertionError(f"a suite that cannot be read has started ranks: {plan}")


MISTAKES = [
    (
        "def half(:",
        r"test_sum\.py:107 is not valid Python: invalid syntax, found `def half\(:`; correct it",
    ),
    (
        "from grader.api import assert_all_clos",
        r"test_sum\.py:107 imports assert_all_clos from grader\.api, which has no such name; "
        r"expected one that docs/api\.md lists\. Did you mean \w+\?",
    ),
    (
        "from .probes import nothing_like_it",
        r"test_sum\.py:107 imports nothing_like_it from sums\.probes, which has no such name; "
        r"correct it",
    ),
    (
        "import numpyy",
        "test_sum\\.py:107 imports numpyy, but no such module exists here; correct its name, "
        "or remove the import",
    ),
    ("HALF = 1 / 0", r"test_sum\.py:107 raises ZeroDivisionError: division by zero; correct it"),
    ("raise SystemExit", r"test_sum\.py:107 raises SystemExit; correct it"),
    (
        "from . import halves",
        r"halves\.py:2 is not valid Python: '\(' was never closed, found `HALF = \(1`; correct it",
    ),
    (
        "pytestmark.append(pytest.mark.half)",
        r"test_sum\.py:107: 'half' not found in `markers` configuration option; correct it",
    ),
    (
        "@pytest.mark.parametrize('half', [1])\ndef test_half(run): pass",
        r"test_sum\.py: In test_sum\.py::test_half: function uses no argument 'half'; correct it",
    ),
    ("def test_half(run): pass", r"test_half has no points; mark it with @points\(number\)"),
]


@pytest.mark.parametrize(("line", "told"), MISTAKES)
def test_the_sentence_says_where_what_and_what_to_do(root, line, told):
    """In `grade verify` and `grade list --prices`."""
    (suite_in(root).parent / "halves.py").write_text('"""Halves."""\nHALF = (1\n')
    suite_in(root).write_text(f"{suite_in(root).read_text()}{line}\n")
    with pytest.raises(GraderError) as raised:
        prices(suite_in(root))
    assert re.fullmatch(f"the suite test_sum.py could not be read: {told}", str(raised.value))


@pytest.mark.parametrize(("line", "told"), [MISTAKES[0], MISTAKES[1], MISTAKES[5]])
def test_no_submission_pays_for_it(root, line, told):
    """In `grade check` and `grade run` the grader itself has failed."""
    suite_in(root).write_text(f"{suite_in(root).read_text()}{line}\n")
    settings = Settings(courses=Courses((Course.read(root),)), launch=refused)
    report = pipeline.grade(root / "reference/sums", settings=settings)
    (part,) = report.parts
    assert (part.verdict, report.score, report.exit_code) == (Verdict.JUDGE_ERROR, None, 3)
    assert re.fullmatch(f"the suite test_sum.py could not be run: {told}", part.message)


def test_a_suite_without_tests_says_so(root):
    suite_in(root).write_text('"""Nothing yet."""\n')
    with pytest.raises(GraderError, match="it has no tests; expected functions whose names begin"):
        prices(suite_in(root))


def test_bytecode_is_kept_of_what_no_edit_can_be_mistaken_for(root, monkeypatch):
    """Python compares sizes and whole seconds: of a suite that was just edited nothing is kept."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    suite = suite_in(root)
    folder = suite.parent
    (folder / ".#test_sum.py").symlink_to("kim@host.1")  # as Emacs leaves of an open file
    before = prices(suite)
    assert not list(folder.rglob("*.pyc"))
    for file in folder.rglob("*.py"):
        os.utime(file, times=(time.time() - 60,) * 2, follow_symlinks=False)
    assert prices(suite) == before
    assert [file for file in folder.rglob("*.pyc") if file.name.startswith("test_sum.")]
    suite.write_text(suite.read_text().replace("points(5,", "points(6,"))
    assert [price.points for price in prices(suite)] != [price.points for price in before]
