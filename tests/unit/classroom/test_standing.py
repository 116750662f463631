"""Where students stand: whose what is, what counts, and what a person has to settle."""

import csv
import io
from dataclasses import replace
from pathlib import Path

from class_samples import AT, NAMES, grading, hand_in, report

from grader.classroom import class_page, gradebook, outputs
from grader.classroom.facts import reports_of
from grader.classroom.hand_in import Unreadable
from grader.classroom.manual_marks import Given
from grader.classroom.policy import Policy
from grader.classroom.roster import Roster, Student
from grader.classroom.standing import Rules, Work, standings, works_of


def table(standings):
    return list(csv.DictReader(io.StringIO(gradebook.render(standings, NAMES))))


def test_who_has_handed_in_twice_without_times_is_for_a_person():
    """The page says so without the names of what was handed in."""
    works = [
        Work(hand_in(label, {"id": "anna"}, at=None), grading()) for label in ("anna-1", "anna-2")
    ]
    found, strays = standings(works, Rules(Roster(), {}, Policy(), {}, NAMES))
    (row,) = table(found)
    assert (row["final"], row["status"]) == ("", "a person should look")
    page = class_page.render("sums", found, NAMES, [])
    assert "which is the last" in page and "anna" not in page
    said = "\n".join(outputs.summary(found, strays, [], [], Path("out")))
    assert "anna: 2 hand-ins, and nobody says which is the last" in said


def test_a_deadline_without_times_is_told():
    """It would be without effect."""
    work = Work(hand_in("anna", at=None), grading())
    for policy, is_told in ((Policy(AT), True), (Policy(), False)):
        found, strays = standings([work], Rules(Roster(), {}, policy, {}, NAMES))
        said = "\n".join(outputs.summary(found, strays, [], [], Path("out")))
        assert ("without a time, and so in time for the deadline: 1;" in said) == is_told


def test_what_could_not_be_read_is_not_nothing_handed_in():
    """Somebody on the roster has no zero for it; without a roster only a platform's name counts."""
    roster = Roster((Student("aa", {"id": "aa", "moodle": "1"}),))
    moodle = hand_in("Ann_1_assignsubmission_file", {"name": "Ann", "moodle": "1"})
    unread = [
        Unreadable(moodle, "Ann_1_assignsubmission_file cannot be read: Permission denied"),
        Unreadable(hand_in("notes.txt"), "notes.txt cannot be read"),
    ]
    for each in (roster, Roster()):
        works = works_of(unread, each)
        assert [work.hand_in for work in works] == [moodle]
        found, _ = standings(works, Rules(each, {}, Policy(), {}, NAMES))
        (row,) = table(found)
        assert (row["final"], row["status"]) == ("", "not graded")
        assert "Ann" not in class_page.render("sums", found, NAMES, [])


def test_the_sheet_of_a_group_is_marked_once_for_all_of_it():
    """It has the pseudonym of one of them; the others are not pending for ever."""
    pair = Roster((Student("aa", {"id": "aa"}, "g"), Student("bb", {"id": "bb"}, "g")))
    work = Work(hand_in("aa"), grading(report(manual=(("method", 3.0),))))
    marks = {NAMES.of("aa"): {"method": Given(2, "", "x")}}
    found, _ = standings([work], Rules(pair, marks, Policy(), {}, NAMES))
    assert [each.final for each in found] == [7, 7]
    own = {**marks, "bb": {"method": Given(1, "", "x")}}
    found, _ = standings([work], Rules(pair, own, Policy(), {}, NAMES))
    assert [each.final for each in found] == [7, 6]


def test_what_a_group_was_delivered_for_each_of_it_is_one_hand_in():
    """Moodle does so: without times it does not matter which is the last, and each gets the own."""
    pair = Roster(
        tuple(Student(name, {"id": name, "name": f"{name} Lee"}, "g1") for name in ("aa", "bb"))
    )
    works = [
        Work(
            replace(hand_in(f"{name}_1", {"name": f"g1-{name} Lee"}, at=None), digest="d"),
            grading(),
        )
        for name in ("aa", "bb")
    ]
    found, strays = standings(works, Rules(pair, {}, Policy(), {}, NAMES))
    assert [(each.final, each.counted.hand_in.label) for each in found] == [
        (5, "aa_1"),
        (5, "bb_1"),
    ]
    assert len(reports_of(found)) == 1 and not strays.works
    other = [works[0], replace(works[1], hand_in=replace(works[1].hand_in, digest="e"))]
    found, _ = standings(other, Rules(pair, {}, Policy(), {}, NAMES))
    assert [each.final for each in found] == [None, None]
