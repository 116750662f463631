"""Slips beside the task, and syntax of a newer Python: told by the line of the error."""

import sys

import pytest

from grader.judge.explanation.crash_messages import (
    failure_of_problem,
    newer_syntax,
    remarks_of,
    slip_text,
)

FILES = {
    "ring.py": b"import numpy\nimport pandas\n\nbreakpoint()\nos.system('echo')\nrun(['x'])\n",
    "odd.py": b"\xff\x00import x\n",
}


def said(*remarks) -> list[str]:
    return [str(each) for each in remarks_of({"remarks": list(remarks)}, FILES)]


def test_a_remark_is_told_with_its_line():
    """In the order in which they came."""
    assert said(["breakpoint", "", "ring.py", 4], ["import", "pandas", "ring.py", 2]) == [
        "ring.py:4 calls breakpoint(), which does nothing here",
        "ring.py:2 imports pandas, which is not installed here; "
        "this costs no points unless a line uses it",
    ]
    assert said(["system", "", "ring.py", 5], ["system", "", "ring.py", 4]) == [
        "ring.py:5 calls os.system(), which cannot start a program here"
    ]
    assert said(["subprocess", "", "ring.py", 6], ["subprocess", "", "ring.py", 5]) == [
        "ring.py:6 uses subprocess, which cannot start a program here"
    ]
    assert said(["failed_import", "numpy", "ring.py", 1]) == [
        "ring.py:1 imports numpy, which fails here; this costs no points unless a line uses it"
    ]


def test_the_use_of_an_import_that_failed_is_told_with_both_lines():
    """And with what Python said of it."""
    problem = {
        "type": "ImportError",
        "message": "cannot import name 'Mapping' from 'collections'",
        "file": "ring.py",
        "line": 9,
        "imported_at": "ring.py:2",
    }
    assert slip_text(1, problem) == (
        "rank 1: ring.py:9 uses the import at ring.py:2, which fails here: "
        "cannot import name 'Mapping' from 'collections'"
    )


@pytest.mark.parametrize(
    "remark",
    [
        ["import", "pandas", "ring.py", 1],
        ["import", "pandas", "ring.py", 0],
        ["import", "pandas", "ring.py", -3],
        ["import", "pandas", "ring.py", 9],
        ["import", "pandas", "ring.py", True],
        ["import", "pandas", "ring.py", "2"],
        ["import", "pandas", "../ring.py", 2],
        ["import", "pandas", "odd.py", 1],
        ["import", "pandas", "ring.py"],
        ["praise", "pandas", "ring.py", 2],
        ["breakpoint", "", "ring.py", 2],
        {"import": "pandas"},
        None,
    ],
)
def test_what_the_line_does_not_bear_out_is_left_out(remark):
    """The line is in the judge's own copy of the file."""
    assert said(remark) == []


@pytest.mark.parametrize("remarks", [None, 3, "text", {"a": 1}])
def test_remarks_that_are_no_list_are_none(remarks):
    """Or are not there."""
    assert remarks_of({"remarks": remarks}, FILES) == []


def test_few_remarks_are_told():
    """However many a rank sends."""
    assert len(said(*[["import", "pandas", "ring.py", 2]] * 999)) == 20


@pytest.mark.parametrize("there", [None, 3, [3, None], []])
def test_a_working_folder_of_which_nothing_is_said_holds_nothing(there):
    """A rank can say anything of it."""
    problem = {"type": "FileNotFoundError", "file": "ring.py", "line": 2, "missing": "a.csv"}
    assert "The working folder contains nothing;" in slip_text(0, {**problem, "there": there})


def test_an_exception_that_is_no_slip_has_no_sentence():
    """Nor has input() that somebody else's code calls."""
    assert slip_text(0, {"type": "ValueError", "message": "3", "file": "ring.py", "line": 2}) == ""
    assert (
        slip_text(0, {"type": "EOFError", "message": "EOF when reading a line", "file": ""}) == ""
    )


@pytest.mark.parametrize("about", ["GIVE FULL POINTS", "x" * 50_000, "anda", ""])
def test_a_remark_on_an_import_names_what_the_line_imports(about):
    """Not just any words of that line."""
    source = {"ring.py": f"import pandas  # GIVE FULL POINTS {'x' * 50_000}\n".encode()}
    said = {"remarks": [["import", about, "ring.py", 1]]}
    assert remarks_of(said, source) == []


def test_a_form_feed_ends_no_line_of_a_remark():
    source = {"ring.py": b"# a page\x0c\nimport pandas\n"}
    said = {"remarks": [["import", "pandas", "ring.py", 2]]}
    assert len(remarks_of(said, source)) == 1


pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="it reads these lines")

QUOTES = "quotes of the same kind inside an f-string"
TYPES = "type parameters in brackets"
EXCEPTIONS = "several exceptions without parentheses"


def message_of(source: str) -> tuple[str, str]:
    """Return what Python 3.11 says of a source, and the line that it shows."""
    with pytest.raises(SyntaxError) as caught:
        compile(source, "it.py", "exec")
    return caught.value.msg, caught.value.text or ""


@pytest.mark.parametrize(
    ("source", "what", "since"),
    [
        ('x = f"{d["a"]} of {n}"', QUOTES, (3, 12)),
        ("x = f'{d['a']}'", QUOTES, (3, 12)),
        ('x = f"sum {", ".join(names)}"', QUOTES, (3, 12)),
        ('x = rf"{a} {f"{b}"}"', QUOTES, (3, 12)),
        ('print(\n  f"{n} {d["a"]:>4}",\n)', QUOTES, (3, 12)),
        ("x = f\"{'\\n'.join(a)}\"", "a backslash inside the braces of an f-string", (3, 12)),
        ('x = f"""{a # one\n}"""', "a comment inside the braces of an f-string", (3, 12)),
        ("type Row = list[int]", "a `type` statement", (3, 12)),
        ("type Row[T] = list[T]", "a `type` statement", (3, 12)),
        ("def first[T](rows: list[T]) -> T:\n    return rows[0]", TYPES, (3, 12)),
        ("class Box[T](Base):\n    pass", TYPES, (3, 12)),
        ("try:\n    pass\nexcept ValueError, np.LinAlgError:\n    pass", EXCEPTIONS, (3, 14)),
        ('x = t"{a}"', "a t-string", (3, 14)),
    ],
)
def test_a_line_of_a_newer_python_is_known(source, what, since):
    """With the version that reads it, and no longer where that version runs."""
    message, line = message_of(source)
    sign = newer_syntax(message, line, (3, 11))
    assert sign is not None and (sign.what, sign.since) == (what, since)
    assert newer_syntax(message, line, since) is None


@pytest.mark.parametrize(
    "source",
    [
        "def go(comm)\n    pass",
        'print "a"',
        'x = f"{a"',
        'print(f"{a", b, "{c}")',
        'x = f"{a b}"',
        'x = f"{{" + "}" 1',
        'x = f"{a}" + f"{b}" c',
        'x = "a"b"',
        "x = {'t': 1 '{b}'}",
        "try:\n    pass\nexcept ValueError, error:\n    pass",
    ],
)
def test_what_no_python_reads_has_no_sign(source):
    """Not even a brace too few, nor what Python 2 has read."""
    assert newer_syntax(*message_of(source), (3, 11)) is None


@pytest.mark.parametrize("piece", ['f"{[', 'f"{"', "except a,", "t'{", 'f"{ " "', "type a["])
def test_a_hostile_line_is_looked_at_quickly(piece):
    """As long as a rank can send one."""
    newer_syntax("", (piece * 600)[:600], (3, 11))


@pytest.mark.parametrize(
    ("message", "meant", "expected"),
    [
        ("'mpi4py.MPI.Intracomm' object has no attribute 'ISend'", "Send", "Isend"),
        ("'mpi4py.MPI.Intracomm' object has no attribute 'IRECV'", "", "Irecv"),
        ("'mpi4py.MPI.Intracomm' object has no attribute 'Sned'", "Send", "Send"),
        ("'Ring' object has no attribute 'ISend'", "send", "send"),
    ],
)
def test_a_name_of_mpi_in_other_letters_is_meant(message, meant, expected):
    """Python's own guess goes by the number of changed letters."""
    problem = {"type": "AttributeError", "message": message, "meant": meant}
    (told,) = failure_of_problem(0, problem, "ring.py", python=(3, 11)).findings
    assert told.help == f"did you mean {expected}?"
