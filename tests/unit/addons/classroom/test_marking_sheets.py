"""What was filled in is never lost when the table of points is written again."""

import pytest

from grader.addons.classroom.marking_sheets import replace_unread
from grader.addons.classroom.tables import inert_comment

NOT_FILLED = "id,row,points,max_points,title,comment\ns1,method/1,,2,Why?,\ns2,method/1,,2,Why?,\n"


@pytest.mark.parametrize(
    "filled",
    [
        NOT_FILLED.replace("s1,method/1,,2,Why?,", "s1,method/1,1.5,2,Why?,"),
        NOT_FILLED.replace("s1,method/1,,2,Why?,", "s1,method/1,,2,Why?,ask her"),
        "\ufeff" + NOT_FILLED.replace("s1,method/1,,", 's1,method/1,"1,5",'),
    ],
)
def test_what_class_toml_does_not_have_is_kept_aside(tmp_path, filled):
    file = tmp_path / "to-mark.csv"
    for number in (1, 2):
        file.write_text(filled)
        assert replace_unread(file, NOT_FILLED) == tmp_path / f"to-mark-{number}.csv"
        assert (tmp_path / f"to-mark-{number}.csv").read_text() == filled
        assert file.read_text() == NOT_FILLED


def test_what_was_read_as_marks_is_written_over(tmp_path):
    """Also as a spreadsheet writes it, and with what keeps a comment from being a formula."""
    file = tmp_path / "to-mark.csv"
    semicolons = NOT_FILLED.replace(",", ";").replace(
        "s1;method/1;;2;Why?;", "s1;method/1;1,50;2;Why?;=a"
    )
    now = NOT_FILLED.replace("s1,method/1,,2,Why?,", "s1,method/1,1.5,2,Why?,'=a")
    for before in (None, NOT_FILLED, semicolons):
        if before is not None:
            file.write_text(before)
        assert replace_unread(file, now) is None
        assert file.read_text() == now


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("two\r\nlines\nand more", "two lines and more"),
        ("5\xa0points \u2764\ufe0f", "5 points \u2764\ufe0f"),
        ("\u202egnp \x1b[2J", "\\u202egnp \\x1b[2J"),
        ("=1+1; -2", "'=1+1; '-2"),
    ],
)
def test_a_comment_comes_back_as_it_was_typed(tmp_path, typed, written):
    """In one line, and with nothing that a screen or a spreadsheet would obey."""
    assert inert_comment(typed) == inert_comment(written) == written
    file = tmp_path / "to-mark.csv"
    file.write_text(NOT_FILLED.replace("Why?,\n", f'Why?,"{typed}"\n', 1), newline="")
    assert replace_unread(file, NOT_FILLED.replace("Why?,\n", f"Why?,{written}\n", 1)) is None
