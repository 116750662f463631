"""What a person has filled in is not lost by writing the file anew."""

import pytest

from grader.classroom.filled_in import replace_unread

EMPTY = "id,row,points,max_points,title,comment\ns1,method/1,,2,Why?,\ns2,method/1,,2,Why?,\n"


@pytest.mark.parametrize(
    "filled",
    [
        EMPTY.replace("s1,method/1,,2,Why?,", "s1,method/1,1.5,2,Why?,"),
        EMPTY.replace("s1,method/1,,2,Why?,", "s1,method/1,,2,Why?,ask her"),
        "\ufeff" + EMPTY.replace("s1,method/1,,", 's1,method/1,"1,5",'),
    ],
)
def test_what_class_toml_does_not_have_is_kept_aside(tmp_path, filled):
    file = tmp_path / "to-mark.csv"
    for number in (1, 2):
        file.write_text(filled)
        assert replace_unread(file, EMPTY) == tmp_path / f"to-mark-{number}.csv"
        assert (tmp_path / f"to-mark-{number}.csv").read_text() == filled
        assert file.read_text() == EMPTY


def test_what_was_read_as_marks_is_written_over(tmp_path):
    """Also as a spreadsheet writes it, and with what keeps a comment from being a formula."""
    file = tmp_path / "to-mark.csv"
    semicolons = EMPTY.replace(",", ";").replace(
        "s1;method/1;;2;Why?;", "s1;method/1;1,50;2;Why?;=a"
    )
    now = EMPTY.replace("s1,method/1,,2,Why?,", "s1,method/1,1.5,2,Why?,'=a")
    for before in (None, EMPTY, semicolons):
        if before is not None:
            file.write_text(before)
        assert replace_unread(file, now) is None
        assert file.read_text() == now
