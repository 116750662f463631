"""Whose a hand-in is: by numbers of platforms, by names, and by groups."""

import pytest
from class_samples import NAMES, hand_in

from grader.addons.classroom import roster
from grader.addons.classroom.marking import Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import Roster, Student, namesakes_apart, with_teams
from grader.addons.classroom.standing import Rules, Work, standings
from grader.model.errors import UsageError

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
    assert ids(students, canvas="201", canvas_name="whoever") == ["aa", "bb"]
    assert ids(students, canvas_name="leeanno'hara") == ["aa", "bb"]
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


def test_of_two_groups_it_counts_for_those_whom_the_platform_names():
    """The others of their groups have handed in nothing with them."""
    pairs = {"aa": "g1", "ab": "g1", "ba": "g2", "bb": "g2", "cc": ""}
    students = Roster(tuple(Student(each, {"id": each}, group) for each, group in pairs.items()))
    for others, authors in (
        (("ab",), ["aa", "ab"]),
        (("ba",), ["aa", "ba"]),
        (("cc",), ["aa", "cc"]),
        (("zz",), ["aa", "ab"]),
    ):
        found = hand_in(who={"id": "aa"}, other_authors=tuple({"id": each} for each in others))
        assert [each.id for each in students.authors(found)] == authors
        assert students.are_of_groups(found) is (authors != ["aa", "ab"])
        _, strays = standings(
            [Work(found, None)], Rules(students, {}, Policy(), Questions(), NAMES)
        )
        told = [each for each in strays.authors if "several groups on the roster" in each]
        assert len(told) == (authors != ["aa", "ab"])


def test_without_a_roster_the_platform_says_who(students):
    for who in ({"id": "x"}, {"name": "X Y", "moodle": "x"}, {"canvas": "x", "canvas_name": "y"}):
        assert [each.id for each in Roster().authors(hand_in(who=who))] == ["x"]


def test_a_number_is_better_than_a_name(students):
    """Somebody else may have the same name, and Canvas's numbers are for ever."""
    assert ids(students, name="Ann O'Hara Lee", moodle="103") == ["cc"]
    assert ids(students, name="Änne Ärni", id="cc", email="dd@example.org") == ["cc"]
    assert ids(students, canvas="999", canvas_name="leeanno'hara") == []
    assert ids(students, id="7", name="Ann O'Hara Lee", email="other@example.org") == []


def test_a_name_of_a_user_is_on_the_roster_in_full():
    """No end of it is another's; an id may be that of a platform as well."""
    names = {"aa": "lee", "bb": "b-lee", "cc": ""}
    students = Roster(
        tuple(Student(each, {"id": each, "github": name}) for each, name in names.items())
    )
    assert ids(students, github="Lee") == ids(students, id="Lee") == ["aa"]
    assert ids(students, github="b-lee") == ["bb"]
    for who in ({"id": "hw3-lee"}, {"github": "x-lee"}, {"github": "cc"}, {"blackboard": "b_aa"}):
        assert ids(students, **who) == []
    assert ids(students, blackboard="AA") == ["aa"]


def test_what_two_numbers_say_of_two_is_nobodys(students):
    """As is a number that two have, whatever the name says."""
    assert ids(students, id="aa", email="bo@example.org") == []
    assert ids(students, id="aa", email="ann@example.org", name="Bo Bo") == ["aa", "bb"]
    both = Roster(
        tuple(Student(each, {"id": each, "name": each, "moodle": "7"}) for each in ("x", "y"))
    )
    assert ids(both, moodle="7", name="x") == []
    one, other = {"name": "Bo", "canvas": "7"}, {"name": "Bo"}
    pair = Roster((Student("x", one), Student("y", other)))
    assert ids(pair, canvas="999", name="Bo") == []  # though it is not that of the first


def test_the_number_of_a_submission_is_no_id():
    students = Roster((Student("31415", {"id": "31415"}),))
    assert ids(students, gradescope="31415") == []


def test_a_roster_may_write_the_family_name_first():
    students = Roster((Student("aa", {"id": "aa", "name": "van der Bo, Ann"}),))
    assert ids(students, canvas="1", canvas_name="vanderboann") == ["aa"]


def test_two_authors_of_the_same_name_stay_two():
    """And one that is named twice is one."""
    first = {"name": "Bo Bo", "email": "b1@example.org"}
    other = {"name": "Bo Bo", "email": "b2@example.org"}
    both = hand_in(who=first, other_authors=(other, first))
    assert [each.id for each in Roster().authors(both)] == ["b1@example.org", "b2@example.org"]


def test_an_author_who_is_not_on_the_roster_is_told(students):
    stranger = {"id": "zz", "name": "Zoe Z"}
    assert students.unknown_authors(hand_in(who={"id": "cc"}, other_authors=(stranger,))) == [
        "Zoe Z"
    ]
    assert students.unknown_authors(hand_in(who=stranger)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name\nAnn\n", "has no column id"),
        ("id,nmae\na,b\n", "has a column 'nmae'"),
        ("id\na\na\n", "line 3: the id a appears twice"),
        ("id,name\n,Ann\n", "line 2 has no id"),
        ("id,name\n", "lists no students"),
        (
            "id,group\n7,\n8,7\n",
            ("line 3: the group 7 has the same name as a student's id.*rename it to group-7"),
        ),
        ("id,name,name\na,b,c\n", "has two columns called name"),
        (f"id\n{'a' * 200_000}\n", "is not CSV"),
        ("id\na,b\n", "line 2 has 2 cells; expected 1"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, problem):
    file = tmp_path / "roster.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        roster.read(file)


def test_a_submitter_whom_the_platform_does_not_name_is_told(students):
    """As one of Gradescope without name, number and email."""
    found = hand_in(who={"moodle": "103"}, other_authors=({},))
    for each in (students, Roster()):
        assert each.unknown_authors(found) == ["a student without a name"]


def test_teams_come_from_class_toml_and_may_hand_in_under_their_name():
    """As a column of groups does; no platform's id is taken for the name of a team."""
    roster = Roster(tuple(Student(each, {"id": each}) for each in ("aa", "bb", "cc", "dd")))
    teams = with_teams(roster, {"blue": ("aa", "bb"), "red": ("cc",)}, "class.toml")
    assert [each.group for each in teams.students] == ["blue", "blue", "red", ""]
    for who, ids in (({"id": "Blue"}, ["aa", "bb"]), ({"id": "bb"}, ["aa", "bb"])):
        assert [each.id for each in teams.authors(hand_in("x", who))] == ids
    assert teams.authors(hand_in("x", {"id": "blue", "name": "Eve"})) == []
    assert teams.is_called("id", "blue") and not teams.is_called("github", "blue")


@pytest.mark.parametrize(
    ("teams", "told"),
    [
        (
            {"blue": ("aa", "a")},
            r"teams.blue has 'a', which is not an id .* Did you mean aa",
        ),
        ({"blue": ("aa",), "red": ("aa",)}, "teams.red has aa, but blue already has that"),
        ({"red": ("bb",)}, "teams.red has bb, but green already has that"),
        ({"aa": ("bb",)}, "teams.aa is also a student's id.*call it team-aa"),
    ],
)
def test_a_team_that_cannot_be_is_told(teams, told):
    roster = Roster((Student("aa", {"id": "aa"}), Student("bb", {"id": "bb"}, "green")))
    with pytest.raises(UsageError, match=told):
        with_teams(roster, teams, "class.toml")


MOODLE = ({"name": "Ann Lee", "moodle": "1"}, {"name": "ann  LEE", "moodle": "2"})
CANVAS = ({"canvas_name": "leeann", "canvas": "1"}, {"canvas_name": "leeann", "canvas": "2"})


def told_apart(tables):
    hand_ins = [hand_in(str(number), who) for number, who in enumerate(tables)]
    return namesakes_apart(hand_ins)


@pytest.mark.parametrize("tables", [MOODLE, CANVAS])
def test_of_two_with_one_name_the_number_tells(tables):
    """The roster has one of them: she gets her own, and nobody gets the other one's."""
    column = "moodle" if tables is MOODLE else "canvas"
    one = Roster((Student("ann", {"id": "ann", "name": "Ann Lee", column: "1"}),))
    first, second = told_apart(tables)
    assert [each.id for each in one.authors(first)] == ["ann"]
    assert one.authors(second) == [] and second.is_of_namesakes
    without = Roster((Student("ann", {"id": "ann", "name": "Ann Lee"}),))
    assert [without.authors(each) for each in (first, second)] == [[], []]


def test_who_hands_in_twice_is_no_namesake():
    """It is the same number; other names are left as they are."""
    twice = ({"name": "Ann Lee", "moodle": "1"}, {"name": "Ann Lee", "moodle": "1"})
    others = ({"name": "Bo Bo", "moodle": "3"}, {"id": "ann"})
    for who, each in zip((*twice, *others), told_apart((*twice, *others)), strict=True):
        assert (each.who, each.is_of_namesakes) == (who, False)


def test_who_takes_anothers_name_on_gradescope_takes_no_mark():
    """Of a roster with names alone, both hand-ins are a person's to tell apart."""
    tables = [
        {"gradescope": number, "name": "Ann Lee", "email": f"{who}@example.org"}
        for number, who in (("1", "ann"), ("2", "eve"), ("3", "ann"))
    ]
    roster = Roster((Student("ann", {"id": "ann", "name": "Ann Lee"}), Student("eve", {})))
    assert [roster.authors(each) for each in told_apart(tables)] == [[], [], []]
    assert [len(roster.authors(each)) for each in told_apart(tables[::2])] == [1, 1]


def test_who_is_named_beside_another_on_gradescope_takes_no_mark():
    """A display name of a submitter's choice is no better in the second place."""
    bo = {"name": "Bo Bo", "email": "bo@x"}
    hand_ins = [
        hand_in("submission_1", {"name": "Ann Lee", "email": "ann@x"}),
        hand_in("submission_2", bo, other_authors=({"name": "Ann Lee", "email": "eve@x"},)),
    ]
    roster = Roster(
        tuple(Student(each, {"id": each, "name": each}) for each in ("Ann Lee", "Bo Bo"))
    )
    first, second = namesakes_apart(hand_ins)
    assert [each.id for each in roster.authors(second)] == ["Bo Bo"]
    assert roster.unknown_authors(second) == ["eve@x"]
    assert roster.authors(first) == [] and first.is_of_namesakes
