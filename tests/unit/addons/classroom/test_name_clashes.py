"""The work of one is never taken for that of another who has the same name."""

import pytest
from class_samples import hand_in

from grader.addons.classroom.roster import Roster, Student, namesakes_apart

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
