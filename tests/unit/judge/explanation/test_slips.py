"""What is told of slips beside the task, also where a rank says what no rank of ours does."""

import pytest

from grader.judge.explanation.crash_messages import remarks_of, slip_text

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
        "that costs nothing unless a line uses it",
    ]
    assert said(["system", "", "ring.py", 5], ["system", "", "ring.py", 4]) == [
        "ring.py:5 calls os.system(), which starts no program here"
    ]
    assert said(["subprocess", "", "ring.py", 6], ["subprocess", "", "ring.py", 5]) == [
        "ring.py:6 starts a program by subprocess, which starts none here"
    ]
    assert said(["failed_import", "numpy", "ring.py", 1]) == [
        "ring.py:1 imports numpy, which fails here; that costs nothing unless a line uses it"
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
        "rank 1: ring.py:9 uses what ring.py:2 imports; that import fails here: "
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
    assert "The working folder holds nothing;" in slip_text(0, {**problem, "there": there})


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
