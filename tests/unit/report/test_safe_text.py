"""What may stem from a submission is visible, of bearable length, and commands nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.report.quotes import Evidence, evidence
from grader.report.safe_text import disarm, one_line, visible, visible_lines
from grader.report.terminal_page import abridged, cut, num_columns, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, äöü, 日本", "plain, äöü, 日本"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202ea\u2069", r"\u202ea\u2069"),
        ("\U000e0041", r"\U000e0041"),
        ("a\nb\x00", r"a\x0ab\x00"),
        ("\ud800", r"\ud800"),
        ("e" + "\u0301" * 5, "e" + "\u0301" * 3 + r"\u0301\u0301"),
        ("##[error]", r"\x23#[error]"),
        ("####[error]", r"##\x23#[error]"),
        ("# a ## b", "# a ## b"),
    ],
)
def test_what_shows_nothing_is_shown_as_an_escape(text, shown):
    """Printable text is left alone; control, bidi and invisible characters are escapes."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        ("   ::error::x", r"   \x3a:error::x"),
        ("x ::error::x", "x ::error::x"),
        (": a", ": a"),
        ("a[::2]", "a[::2]"),
    ],
)
def test_commands_at_the_start_of_a_line_are_disarmed(line, shown):
    """Runners look for `::` after white space at the start of a line only."""
    assert disarm(line) == shown


def test_lines_keep_their_indentation():
    """Tabs become spaces, Windows line ends vanish, lone carriage returns are shown."""
    assert visible_lines("a\r\n\tb\rc\n") == ["a", r"    b\x0dc", ""]


def test_long_texts_say_how_much_is_left_out():
    """One line of 9000 characters does not fill the screen."""
    assert one_line("x" * 2100) == "x" * 2000 + "... (100 more characters)"
    assert one_line(" a \n b ") == "a b"


@settings(deadline=None, derandomize=True)
@given(st.text(st.characters(), max_size=300), st.integers(10, 40))
def test_wrapped_lines_fit_and_lose_nothing(text, width):
    """Every line fits; put together again they are the words, in order."""
    shown = one_line(text)
    lines = wrap(shown, width)
    assert all(num_columns(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "").replace(r"\x3a", ":") == shown.replace(" ", "").replace(
        r"\x3a", ":"
    )


@settings(deadline=None, derandomize=True)
@given(st.text(st.characters(categories=["L", "P", "Zs"]), max_size=300), st.integers(10, 40))
def test_cut_lines_fit_and_keep_their_spaces(text, width):
    """Code is cut where the line ends, nowhere else."""
    line = visible(text)
    pieces = cut(line, width)
    assert all(num_columns(piece) <= width for piece in pieces)
    assert "".join(pieces).replace(r"\x3a", ":") == line.replace(r"\x3a", ":")


def test_wide_characters_take_two_columns():
    """A terminal shows them so."""
    assert num_columns("日本a") == 5
    assert wrap("日本 日本", 10) == ["日本 日本"]
    assert abridged("日本日本日本", 8) == "日本..."


def test_a_detail_is_taken_apart():
    """The traceback, then what the ranks printed; those that printed the same together."""
    detail = (
        'File "a.py", line 1\nValueError\n\nlast output of rank 0:\nhi\n\nlast output of rank 1:\n'
        "other\n\nlines\n\nlast output of rank 2:\nhi"
    )
    found = [(piece.heading, piece.lines) for piece in evidence(detail)]
    assert found == [
        ("traceback", ('File "a.py", line 1', "ValueError")),
        ("last output of ranks 0 and 2", ("hi",)),
        ("last output of rank 1", ("other", "", "lines")),
    ]
    assert [piece.is_output for piece in evidence(detail, most_outputs=1)] == [False, True]
    assert evidence("") == []
    assert [piece.heading for piece in evidence("AssertionError while setup")] == ["detail"]


def test_the_end_of_an_output_is_kept():
    """A single line is never replaced by a line that says it is missing."""
    for text, shown in (("abcd", ["... (2 earlier lines)", "c", "d"]), ("abc", ["a", "b", "c"])):
        printed = Evidence("last output of rank 0", tuple(text), is_output=True)
        assert printed.abridged(num_traceback_lines=0, num_output_lines=2) == shown


def test_a_long_traceback_keeps_where_it_begins_and_where_it_ends():
    """The student's own call stands at one end, the error at the other."""
    ends = ["0", "1", "... (14 lines left out)", "16", "17", "18", "19"]
    for length, shown in ((20, ends), (7, ["0", "1", "2", "3", "4", "5", "6"])):
        traceback = Evidence("traceback", tuple(map(str, range(length))), is_output=False)
        assert traceback.abridged(num_traceback_lines=6, num_output_lines=0) == shown
