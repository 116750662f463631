"""Whose a hand-in is: by numbers of platforms, by names, and by groups."""

import pytest
from class_samples import hand_in

from grader.classroom import roster
from grader.classroom.roster import Roster
from grader.errors import UsageError

TEXT = """\
id,name,email,moodle,canvas,group
aa,Ann O'Hara Lee,ann@example.org,101,201,g1
bb,Bo  BO,bo@example.org,102,202,g1
cc,Bo Bo,cc@example.org,103,203,
dd,Änne Ärni,,,,
"""


@pytest.fixture
def students(tmp_path):
    file = tmp_path / "roster.csv"
    file.write_text(TEXT, encoding="utf-8-sig")
    return roster.read(file)


def ids(students, **who):
    return [each.id for each in students.authors(hand_in(who=who))]


def test_a_number_or_a_name_says_whose_it_is(students):
    assert ids(students, moodle="103", name="whoever") == ["cc"]
    assert ids(students, id="CC") == ["cc"]
    assert ids(students, canvas="999", canvas_name="leeanno'hara") == ["aa", "bb"]
    assert ids(students, name="A\u0308nne  ärni") == ["dd"]


def test_a_spreadsheet_may_write_semicolons_and_crlf(students, tmp_path):
    file = tmp_path / "semicolons.csv"
    file.write_text(TEXT.replace(",", ";").replace("\n", "\r\n"), encoding="utf-8-sig")
    assert roster.read(file) == students


def test_one_of_a_group_hands_in_for_all(students):
    assert ids(students, moodle="101") == ["aa", "bb"]


def test_a_name_of_two_is_nobodys(students):
    assert ids(students, name="bo bo") == []
    assert ids(students, id="zz") == []


def test_a_group_that_the_platform_knows_counts_as_well(students):
    found = students.authors(hand_in(who={"id": "cc"}, other_authors=({"id": "dd"},)))
    assert [each.id for each in found] == ["cc", "dd"]


def test_without_a_roster_the_platform_says_who(students):
    for who in ({"id": "x"}, {"name": "X Y", "moodle": "x"}, {"canvas": "x", "canvas_name": "y"}):
        assert [each.id for each in Roster().authors(hand_in(who=who))] == ["x"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name\nAnn\n", "has no column id"),
        ("id,nmae\na,b\n", "has a column 'nmae'"),
        ("id\na\na\n", "line 3: the id a is there twice"),
        ("id,name\n,Ann\n", "line 2: has no id"),
        ("id,name\n", "names no student"),
        ("id\na,b\n", "line 2: has 2 cells; expected 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, problem):
    file = tmp_path / "roster.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        roster.read(file)
