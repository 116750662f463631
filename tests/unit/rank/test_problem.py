"""What is told of an exception, where Python itself says too little."""

import importlib.util
import sys
from pathlib import Path

import pytest

from grader.rank.problem import describe

TOO_DEEP = {
    "parser": f"x = {'-' * 20000}1\n",
    "compiler": f"x = {' + '.join(['1'] * 20000)}\n",
}


def raised_by(source: str, folder: Path) -> BaseException:
    """Return what importing ring.py raises."""
    (folder / "ring.py").write_text(source)
    spec = importlib.util.spec_from_file_location("ring", folder / "ring.py")
    with pytest.raises((MemoryError, RecursionError)) as caught:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return caught.value


@pytest.mark.parametrize("where", TOO_DEEP)
def test_a_source_too_deep_to_read_is_no_valid_python(tmp_path, where):
    """It has not run, so that no memory of the rank's was too small."""
    told = describe(raised_by(TOO_DEEP[where], tmp_path), tmp_path)
    assert (told["kind"], told["type"], told["file"]) == ("exception", "SyntaxError", "ring.py")
    assert told["message"] == "it is nested too deeply"


def test_a_helper_too_deep_to_read_is_named(tmp_path, monkeypatch):
    """Where another of the student's files imports it."""
    (tmp_path / "too_deep_helper.py").write_text(TOO_DEEP["parser"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    told = describe(raised_by("import too_deep_helper\n", tmp_path), tmp_path)
    assert (told["type"], told["file"]) == ("SyntaxError", "too_deep_helper.py")


@pytest.mark.parametrize(
    ("source", "kind", "name"),
    [
        ("x = bytearray(1 << 62)\n", "memory", "MemoryError"),
        ("def f(): f()\nf()\n", "exception", "RecursionError"),
    ],
)
def test_a_program_that_runs_out_of_something_is_told_as_that(tmp_path, source, kind, name):
    """Though another file that nobody imports is too deep to read."""
    (tmp_path / "unused.py").write_text(TOO_DEEP["parser"])
    told = describe(raised_by(source, tmp_path), tmp_path)
    assert (told["kind"], told["type"], told["file"]) == (kind, name, "ring.py")
