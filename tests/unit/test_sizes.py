"""What `make check` says of modules that are too long."""

import runpy
from pathlib import Path

import pytest

SIZES = runpy.run_path(str(Path(__file__).parents[1] / "sizes.py"))


@pytest.fixture
def root(tmp_path):
    """A project with one module of the longest that is allowed, and one too long."""
    for folder in SIZES["FOLDERS"]:
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "grader/short.py").write_text("\n" * 500)
    (tmp_path / "grader/long.c").write_text("\n" * 301)
    (tmp_path / "grader/data.json").write_text("\n" * 999)
    return tmp_path


def test_a_module_that_is_too_long_is_named(root):
    """With its length, the most there may be, and what to do."""
    assert SIZES["complaints"](root, set()) == [
        "grader/long.c has 301 lines, 300 are the most: split it by what it is about"
    ]
    assert SIZES["complaints"](root, {"grader/long.c"}) == []


def test_an_exception_that_is_not_needed_is_named(root):
    """Else the list would go on allowing what nobody needs."""
    assert SIZES["complaints"](root, {"grader/long.c", "grader/short.py"}) == [
        "grader/short.py is not too long any more, or not there: "
        "take it out of LONGER in tests/sizes.py"
    ]


def test_the_report_counts_the_lines_of_each_package(root):
    """Python and C apart; the sum is the engine's."""
    (root / "grader/judge").mkdir()
    (root / "grader/judge/budgets.py").write_text("a\nb\n")
    rows = {row[:16].strip(): row[16:].split() for row in SIZES["report"](root).splitlines()}
    assert rows == {
        "(loose)": ["500", "301"],
        "judge": ["2", "0"],
        "the engine": ["502", "301"],
        "tests": ["0", "0"],
    }


def test_the_structure_counts_packages_and_what_they_import(root):
    """Two packages that import each other are a circle."""
    texts = {
        "judge/rules.py": "import grader.model.paths\n",
        "model/paths.py": "import argparse\nimport grader.judge.rules\nprint('--quick ')\n",
    }
    for name, text in texts.items():
        (root / "grader" / name).parent.mkdir()
        (root / "grader" / name).write_text(text)
        (root / "grader" / name).with_name("__init__.py").touch()
    (root / "requirements.lock").write_text("numpy==2.0 \\\n    --hash=sha256:0\nmpi4py==4.1\n")
    rows = {row[:26].strip(): row[26:] for row in SIZES["structure"](root).splitlines()}
    assert rows == {
        "modules": "5",
        "loose modules": "1",
        "packages": "3",
        "imports between packages": "2",
        "circles of packages": "a circle of packages: judge, model",
        "options": "1",
        "packages installed": "2",
    }
