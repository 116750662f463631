"""Slips beside the task: told by the line of the error."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judge.explanation.crash_messages import (
    failure_of_problem,
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


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["kind", "type", "message", "file", "line", "source", "traceback"]),
        st.none()
        | st.integers()
        | st.just("SyntaxError")
        | st.text(max_size=20)
        | st.lists(st.integers(), max_size=2),
    )
)
def test_any_problem_gives_one_short_sentence(values):
    """What a rank says of its exception is a claim; it cannot break the judge."""
    failure = failure_of_problem(0, values, "go()", python=(3, 11))
    assert failure.message and len(failure.message) < 2000
