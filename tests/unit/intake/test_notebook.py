"""What is read from a notebook: the files its cells would write, and nothing is executed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import notebook


def of(*sources: str | list[str], kind: str = "code") -> bytes:
    cells = [{"cell_type": kind, "metadata": {}, "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


def files(*sources: str | list[str]) -> dict[str, str]:
    found = notebook.read(of(*sources))
    assert found.problems == ()
    return {name: content.decode() for name, content in found.files.items()}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("%%writefile a.py\nx = 1\n", "a.py"),
        ("%%file a.py\nx = 1", "a.py"),
        (["%%writefile a.py\n", "x = 1"], "a.py"),
        ("\n\n%%writefile   a.py  \nx = 1\n", "a.py"),
        ("%%writefile ./part1/main.py\nx = 1\n", "part1/main.py"),
        ("%%writefile 'my a.py'\nx = 1\n", "my a.py"),
        ("%%writefile /content/a.py\nx = 1\n", "a.py"),
    ],
)
def test_a_cell_that_writes_a_file_is_that_file(source, name):
    """In each of the forms that Jupyter takes and saves."""
    assert files(source) == {name: "x = 1\n"}


def test_other_cells_are_not_read():
    """Shell commands, other magics, text and plain code leave no file."""
    assert files(
        "!rm -rf /",
        "%%bash\ncat > b.py",
        "print(1)\n%%writefile c.py\nx",
        "%%writefiles d.py\nx",
        "%%writefile a.py\nx = 1",
    ) == {"a.py": "x = 1\n"}
    assert notebook.read(of("%%writefile a.py\nx", kind="markdown")).files == {}


def test_a_later_cell_overwrites_or_appends():
    """As the cells do when they are run from top to bottom."""
    assert files("%%writefile a.py\nx = 1", "%%writefile a.py\nx = 2") == {"a.py": "x = 2\n"}
    assert files(
        "%%writefile a.py\nx = 1", "%%writefile -a a.py\ny = 2", "%%file --append a.py\nz = 3"
    ) == {"a.py": "x = 1\ny = 2\nz = 3\n"}
    assert files("%%writefile -a a.py\nx = 1") == {"a.py": "x = 1\n"}


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../a.py", "a/../../b.py", "~/a.py", "$HOME/a.py", "a\\b.py", "{x}.py"),
        *("C:x.py", "c:/x.py", "Z:a/b.py", "//host/x.py"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name):
    """And named, while the other cells are read."""
    found = notebook.read(of(f"%%writefile '{name}'\nx", "%%writefile a.py\nx"))
    assert list(found.files) == ["a.py"]
    assert found.problems == (
        (f"has a cell that writes to {name!r}, which is not a plain relative path"),
    )


@pytest.mark.parametrize("head", ["%%writefile", "%%writefile a.py b.py", "%%writefile 'a.py"])
def test_a_cell_must_name_one_file(head):
    """Jupyter itself would refuse these."""
    found = notebook.read(of(f"{head}\nx"))
    assert found.files == {}
    assert "that does not name exactly one file" in found.problems[0]


def test_a_notebook_without_such_cells_says_so():
    """The reader of the report learns what a cell has to begin with."""
    found = notebook.read(of("print(1)"))
    assert found.problems == ("has no cell that begins with %%writefile",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"null",
        b"[1, 2]",
        b"{}",
        b'{"cells": 3}',
        b'{"cells": {"cell_type": "code"}}',
        b'{"cells": "code"}',
        b'{"worksheets": [{"cells": []}]}',
        b"[" * 200_000,
        b'{"cells":' * 50_000,
        b'{"cells": ' + b"9" * 10_000 + b"}",
    ],
)
def test_what_is_no_notebook_is_said_to_be_none(content):
    """Broken, deep or strange JSON: words, never an exception."""
    found = notebook.read(content)
    assert found.files == {}
    assert found.problems[0].startswith("is not a readable notebook (")


@pytest.mark.parametrize(
    "odd",
    [
        3,
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": None},
        {"cell_type": "code", "source": 7},
        {"cell_type": "code", "source": ["%%writefile b.py\n", 1]},
        {"cell_type": [], "source": "%%writefile b.py\nx"},
    ],
)
def test_an_odd_cell_is_skipped(odd):
    """The others are read, also one that does not say what it is."""
    cells = [odd, {"source": "%%writefile a.py\nx"}]
    found = notebook.read(json.dumps({"cells": cells}).encode())
    assert (found.files, found.problems) == ({"a.py": b"x\n"}, ())


def test_too_many_files_are_cut_off():
    """A notebook of a million cells does not make a million files."""
    found = notebook.read(of(*(f"%%writefile {number}.py\nx" for number in range(500))))
    assert len(found.files) == 200
    assert found.problems == ("writes more than 200 files",)


def test_a_text_that_no_encoding_has_becomes_a_question_mark():
    """JSON can hold half of a surrogate pair."""
    assert notebook.read(of("%%writefile a.py\n'\ud800'")).files == {"a.py": b"'?'\n"}


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(content):
    """Whatever is handed in."""
    assert notebook.read(content).files == {}


@given(st.lists(st.text(max_size=30), max_size=4))
def test_any_cell_is_answered(sources):
    """Names stay plain and relative, whatever a cell says."""
    found = notebook.read(of(*sources, *(f"%%writefile {text}\n{text}" for text in sources)))
    for name in found.files:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
