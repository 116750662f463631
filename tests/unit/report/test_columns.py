"""Columns of text of any origin: aligned, and never wider than the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.terminal_page import Column, aligned, end_of, num_columns

from . import hostile

COLUMNS = [Column("#", is_number=True), Column("call"), Column("line", is_cut_at_start=True)]


def test_numbers_stand_at_the_right_and_text_at_the_left():
    """Two spaces between, none at the end."""
    rows = [["9", "Isend", "31"], ["10", "Wait", ""]]
    assert aligned(COLUMNS, rows, 80) == [" #  call   line", " 9  Isend  31", "10  Wait"]


def test_a_column_without_any_cell_is_left_out():
    """With its title."""
    assert aligned(COLUMNS, [["1", "", "31"], ["2", "", "32"]], 80) == [
        "#  line",
        "1  31",
        "2  32",
    ]


def test_wide_characters_count_twice():
    """So that what stands beside them stays in its column."""
    assert aligned(COLUMNS, [["1", "日本", "31"], ["2", "abcd", "32"]], 80)[1:] == [
        "1  日本  31",
        "2  abcd  32",
    ]


def test_what_is_too_long_is_cut_where_it_says_least():
    """A name at its end, a file at its start."""
    rows = [["1", "a_function_of_a_long_name", "a_file_of_a_long_name.py:31"]]
    assert aligned(COLUMNS, rows, 30)[1] == "1  a_functio...  ...name.py:31"


def test_the_end_of_a_text_fits():
    """Also where characters are wide."""
    assert end_of("abcdefgh", 8) == "abcdefgh"
    assert end_of("abcdefghi", 8) == "...efghi"
    assert end_of("日本語日本語", 8) == "...本語"


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_no_text_is_active_or_wider_than_the_page(text):
    """In any column, of numbers as well."""
    for line in aligned(COLUMNS, [["1", text, text], [text, "x", ""]], 40):
        assert num_columns(line) <= 40
        assert "\x1b" not in line and line.isprintable(), repr(line)


@given(st.lists(st.tuples(hostile.texts, hostile.texts, hostile.texts), min_size=1, max_size=5))
def test_any_rows_fit(rows):
    """Whatever the cells hold; a table of empty ones has no columns."""
    lines = aligned(COLUMNS, rows, 24)
    assert len(lines) == (len(rows) + 1 if any(map(any, rows)) else 0)
    assert all(num_columns(line) <= 24 for line in lines)
