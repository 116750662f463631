"""The student's lines beside what was found in them."""

import pytest

from grader.grading_plugin.case_evidence import source_excerpts
from grader.model.finding import found

SOURCES = {
    "ring.py": b"\n".join(b"line %d" % number for number in range(1, 30)),
    "a/net.py": b"one\ntwo\n",
    "b/net.py": b"three\nfour\n",
}


def marked(excerpts):
    return [
        (each.file, line.line, line.finding)
        for each in excerpts
        for line in each.lines
        if line.finding
    ]


def test_a_place_in_the_message_is_shown_with_its_clause():
    message = (
        "2 ranks, x: deadlock: rank 0 waits in Recv at ring.py:11; rank 1 sleeps at ring.py:20"
    )
    (excerpt,) = found = source_excerpts(SOURCES, message, "")
    assert marked(found) == [
        ("ring.py", 11, "rank 0 waits in Recv at ring.py:11"),
        ("ring.py", 20, "rank 1 sleeps at ring.py:20"),
    ]
    assert [line.line for line in excerpt.lines] == [*range(8, 15), *range(17, 24)]
    assert excerpt.lines[0].text == "line 8"


def test_a_traceback_shows_where_it_was_raised():
    detail = (
        '  File "ring.py", line 3, in fit\n    x\n  File "ring.py", line 9, in step\nIndexError: x'
        '\n\nlast output of rank 0:\n  File "ring.py", line 25, in x'
    )
    assert marked(source_excerpts(SOURCES, "it raised IndexError", detail)) == [
        ("ring.py", 3, "called from here"),
        ("ring.py", 9, "raised here"),
    ]


def test_lines_of_other_files_and_of_ambiguous_names_are_not_shown():
    message = "at ours.py:1; at net.py:1; at ring.py:4000; at ring.py:0"
    assert source_excerpts(SOURCES, message, "") == ()


def test_bytes_that_are_no_text_and_long_lines_are_bounded():
    sources = {"x.py": b"\xff\xfe" + b"y" * 9000}
    ((line,),) = [each.lines for each in source_excerpts(sources, "at x.py:1", "")]
    assert len(line.text) == 200


def test_lines_end_where_pythons_do():
    """A form feed between two functions is no line, nor is what Unicode calls one."""
    source = "one\n\fdef two():\r\n# \x85 \u2028\nfour\n".encode()
    (excerpt,) = source_excerpts({"ring.py": source}, "it stands at ring.py:4", "")
    assert [line.text for line in excerpt.lines] == ["one", "\fdef two():", "# \x85 \u2028", "four"]


@pytest.mark.parametrize(
    ("columns", "marked"),
    [((16, 3), "sze"), ((0, 0), "range"), ((16, "3"), "range"), ((), "range")],
)
def test_what_raised_is_marked_where_that_is_known(columns, marked):
    """Else the first call of the line."""
    sources = {"ring.py": b"for i in range(sze - 1):\n"}
    facts = dict(zip(("column", "num_columns"), columns, strict=False))
    raised = found("crash.name_error", "x at ring.py:1", place="ring.py:1", **facts)
    (excerpt,) = source_excerpts(sources, "x at ring.py:1", "", found=[raised])
    (line,) = excerpt.lines
    assert line.text[line.column - 1 :][: line.num_columns] == marked


def test_a_column_beyond_what_is_shown_marks_the_whole_line():
    """As of a long line that is cut."""
    raised = found("crash.x", "x at ring.py:1", place="ring.py:1", column=250, num_columns=3)
    (excerpt,) = source_excerpts({"ring.py": b"y" * 300}, "x at ring.py:1", "", found=[raised])
    assert (excerpt.lines[0].column, excerpt.lines[0].num_columns) == (0, 0)
