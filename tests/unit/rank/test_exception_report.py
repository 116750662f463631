"""What is told of an exception: the student's lines, and more where Python says too little."""

import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

from grader.rank.exception_report import describe

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


def told_of(source: str, folder: Path, command: tuple[str, ...] = ()) -> dict:
    """Return what is told of the exception that a program ends with."""
    (folder / "ring.py").write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location("ring", folder / "ring.py")
    with pytest.raises(BaseException) as caught:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return describe(caught.value, folder, folder.parent / "support", command)


def test_what_is_no_valid_python_is_shown_with_its_line_and_a_caret(tmp_path):
    """Where, and not only that something was expected."""
    told = told_of("def go(comm)\n    pass\n", tmp_path)
    assert told["traceback"] == (
        "  File \"ring.py\", line 1\n    def go(comm)\n                ^\nSyntaxError: expected ':'"
    )
    assert told["source"] == "def go(comm)\n"


def test_a_traceback_ends_with_the_students_line_though_a_library_raised(tmp_path):
    """What the library did in between is one line."""
    told = told_of("import json\ndef go():\n    json.loads('x')\ngo()\n", tmp_path)
    assert told["traceback"].splitlines() == [
        '  File "ring.py", line 4, in <module>',
        "    go()",
        '  File "ring.py", line 3, in go',
        "    json.loads('x')",
        "  ... 3 calls inside json",
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ]
    assert (told["file"], told["line"], told["source"]) == ("ring.py", 3, "json.loads('x')")
    assert told["called"] == "raw_decode"


@pytest.mark.parametrize("command", [(), ("python", "ring.py"), ("python", "ring.py", "--a b")])
def test_argparse_is_quoted_and_the_command_told(tmp_path, command):
    """Its own line stands in the output, far above the last one."""
    source = """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--rank", required=True)
        parser.parse_args([])
        """
    told = told_of(source, tmp_path, command)
    assert told["kind"] == "exit"
    assert told["said"] == "the following arguments are required: --rank"
    assert told["command"] == " ".join(command).replace("--a b", "'--a b'")


def test_a_program_that_ends_itself_says_nothing_of_argparse(tmp_path):
    """A function of the student's that is called `error` is not argparse's."""
    told = told_of("import sys\ndef error(message): sys.exit(2)\nerror('x')\n", tmp_path)
    assert (told["kind"], told["said"]) == ("exit", "")


def test_our_folders_are_not_in_a_traceback(tmp_path, monkeypatch):
    """Neither in a frame of a given file nor in the message."""
    given, handed_in = tmp_path / "support", tmp_path / "submission"
    given.mkdir()
    handed_in.mkdir()
    (given / "given_file.py").write_text("def f(path): open(path)\n")
    monkeypatch.syspath_prepend(given)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = "import given_file\ngiven_file.f(given_file.__file__ + 'x')\n"
    told = told_of(source, handed_in)
    assert str(tmp_path) not in told["traceback"]
    assert "No such file or directory: 'given_file.pyx'" in told["traceback"]
    assert 'File "given_file.py", line 1, in f' in told["traceback"]


@pytest.mark.parametrize(
    ("source", "line", "marked", "meant"),
    [
        ("size = 2\nfor step in range(sze - 1): pass\n", 2, "sze", "size"),
        ("import math\nö = math.\\\n  sqr(2)\n", 3, "sqr", "sqrt"),
        ("total = (1\n         + 1 / 0)\n", 2, "1 / 0", ""),
        ("def go(comm)\n    pass\n", 1, "", ""),
        ("x = unlike_all_else\n", 1, "unlike_all_else", ""),
    ],
)
def test_what_raised_is_marked_in_its_line_and_a_misspelt_name_told(
    tmp_path, source, line, marked, meant
):
    """Also in a line that goes on in the next one."""
    told = told_of(source, tmp_path)
    text = source.splitlines()[told["line"] - 1]
    begin = told["column"] - 1
    assert told["line"] == line
    assert text[begin:][: told["num_columns"]].rpartition(".")[2].strip() == marked
    assert told["meant"] == meant


def test_an_object_that_answers_with_anything_is_asked_for_no_names(tmp_path):
    """Its own names may be no texts, and asking for them may raise."""
    source = """
        class Odd:
            def __dir__(self):
                raise ValueError
        Odd().nothing
        """
    assert told_of(source, tmp_path)["meant"] == ""
