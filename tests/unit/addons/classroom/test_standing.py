"""Where students stand: whose what is, what counts, and what a person has to settle."""

import csv
import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from class_samples import AT, NAMES, grading, hand_in, not_read, part, report, standing

from grader.addons.classroom import class_page, gradebook, outputs
from grader.addons.classroom.class_page import reports_of
from grader.addons.classroom.marking import Given, Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import Roster, Student
from grader.addons.classroom.standing import Rules, Strays, Work, standings
from grader.model.errors import UsageError
from grader.model.finding import Finding
from grader.model.report import Verdict


def table(standings):
    return list(csv.DictReader(io.StringIO(gradebook.render(standings, NAMES))))


def test_who_has_handed_in_twice_without_times_is_for_a_person():
    """The page says so without the names of what was handed in."""
    works = [
        Work(hand_in(label, {"id": "anna"}, at=None), grading()) for label in ("anna-1", "anna-2")
    ]
    found, strays = standings(works, Rules(Roster(), {}, Policy(), Questions(), NAMES))
    (row,) = table(found)
    assert (row["final"], row["status"]) == ("", "needs review")
    page = class_page.render("sums", found, NAMES, [])
    assert "so the last one is unknown" in page and "anna" not in page
    said = "\n".join(outputs.summary(found, strays, [], Path("out")))
    assert "anna: 2 hand-ins, but not all have a time, so the last one is unknown" in said


def test_a_deadline_without_times_is_told():
    """It would be without effect."""
    work = Work(hand_in("anna", at=None), grading())
    for policy, is_told in ((Policy(AT), True), (Policy(), False)):
        found, strays = standings([work], Rules(Roster(), {}, policy, Questions(), NAMES))
        said = "\n".join(outputs.summary(found, strays, [], Path("out")))
        assert ("students without a hand-in time, counted as on time: 1;" in said) == is_told


def test_late_by_an_unknown_time_is_told():
    """Only Canvas calls a hand-in late without a time."""
    late = replace(hand_in("doe_LATE_1", {"canvas": "1"}, at=None), is_called_late=True)
    rules = Rules(Roster(), {}, Policy(AT, late_per_day=0.1), Questions(), NAMES)
    found, strays = standings([Work(late, grading())], rules)
    said = "\n".join(outputs.summary(found, strays, [], Path("out")))
    assert f"late without a time, so no points were deducted: {found[0].student.id};" in said
    assert "counted as on time" not in said


def test_what_could_not_be_read_is_not_nothing_handed_in():
    """Somebody on the roster has no zero for it; without a roster only a platform's name counts."""
    roster = Roster((Student("aa", {"id": "aa", "moodle": "1"}),))
    moodle = hand_in("Ann_1_assignsubmission_file", {"name": "Ann", "moodle": "1"})
    unread = [
        replace(moodle, problem="Ann_1_assignsubmission_file cannot be read: Permission denied"),
        hand_in("notes.txt", problem="notes.txt cannot be read"),
    ]
    for each in (roster, Roster()):
        rules = Rules(each, {}, Policy(), Questions(), NAMES)
        found, strays = standings(not_read(*unread), rules)
        assert strays.hand_ins == ("notes.txt cannot be read",)
        (row,) = table(found)
        assert [work.hand_in for work in found[0].works] == [unread[0]]
        assert (row["final"], row["status"]) == ("", "not graded")
        assert "Ann" not in class_page.render("sums", found, NAMES, [])


@pytest.mark.parametrize("holder", ["anna", "ben"])
def test_what_a_sheet_gives_is_given_to_all_whose_hand_in_it_is(holder):
    """Whichever of them the sheet is called by; what one is given by id is that one's."""
    roster = Roster(tuple(Student(name, {"id": name}, "g1") for name in ("anna", "ben")))
    works = [Work(hand_in("anna"), grading(report(manual=(("method", 3.0),))))]

    def finals(marks):
        found, strays = standings(works, Rules(roster, marks, Policy(), Questions(), NAMES))
        assert strays.keys == ()
        return {each.student.id: each.final for each in found}

    assert finals({}) == {"anna": None, "ben": None}
    sheet = {NAMES.of(holder): {"method": Given(2, "", "x")}}
    assert finals(sheet) == {"anna": 7, "ben": 7}
    assert finals({**sheet, "ben": {"method": Given(1, "", "x")}}) == {"anna": 7, "ben": 6}


def test_what_was_given_for_an_earlier_hand_in_is_not_given_for_the_next():
    """It waits until a person has looked, and says so; what names no hand-in counts for any."""
    first, second = (
        Work(
            replace(hand_in("anna", at=AT + timedelta(hours=hours)), digest=digest, label=digest),
            grading(report(manual=(("method", 3.0),))),
        )
        for hours, digest in ((0, "aaaa"), (1, "bbbb"))
    )

    def stands(works, digest):
        marks = {"anna": {"method": Given(2, "", "x", digest)}}
        (found,), _ = standings(works, Rules(Roster(), marks, Policy(), Questions(), NAMES))
        return found

    assert stands([first], "aaaa").final == stands([first, second], "").final == 7
    found = stands([first, second], "aaaa")
    assert (found.final, found.status, found.decision.raw) == (None, "pending", 5)
    assert found.problem == "method: marked in an earlier hand-in; review this one"
    assert stands([first, second], "bbbb").final == 7


def test_what_was_given_for_an_earlier_hand_in_is_in_the_way_of_nothing():
    """The sheet of a group was called by another one of them then."""
    group = Roster(tuple(Student(name, {"id": name}, "g1") for name in ("aa", "bb", "cc")))
    work = Work(replace(hand_in("aa"), digest="new"), grading(report(manual=(("method", 3.0),))))
    marks = {
        NAMES.of(name): {"method": Given(points, "", "x", digest)}
        for name, points, digest in (("aa", 1, "old"), ("bb", 2, "new"))
    }
    found, _ = standings([work], Rules(group, marks, Policy(), Questions(), NAMES))
    assert [each.final for each in found] == [7, 7, 7]


def test_points_in_place_of_the_tests_of_an_earlier_hand_in_are_no_mark_of_the_next():
    """Nor is what the tests found: somebody has appealed, and it may hold for this one as well."""
    work = Work(replace(hand_in("anna"), digest="bbbb"), grading())
    marks = {"anna": {"ring": Given(1, "", "x", "aaaa")}}
    (found,), _ = standings([work], Rules(Roster(), marks, Policy(), Questions(), NAMES))
    assert (found.final, found.status) == (None, "needs review")
    assert found.problem == "ring: marked in an earlier hand-in; review this one"


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
    found, strays = standings(works, Rules(pair, {}, Policy(), Questions(), NAMES))
    assert [(each.final, each.counted.hand_in.label) for each in found] == [
        (5, "aa_1"),
        (5, "bb_1"),
    ]
    assert len(reports_of(found)) == 1 and not strays.hand_ins
    other = [works[0], replace(works[1], hand_in=replace(works[1].hand_in, digest="e"))]
    found, _ = standings(other, Rules(pair, {}, Policy(), Questions(), NAMES))
    assert [each.final for each in found] == [None, None]


def test_nobody_has_a_zero_while_a_hand_in_has_no_author():
    """It may be theirs; who has handed in keeps the mark."""
    roster = Roster(tuple(Student(name, {"id": name}) for name in ("anna", "ben")))
    work = Work(hand_in("anna"), grading())
    stray = Work(hand_in("zoe"), grading())
    lost = hand_in("x", problem="x reads as moodle 1 and as moodle 2")
    rules = Rules(roster, {}, Policy(), Questions(), NAMES)
    for works, final, status in (
        ([work], "0", "nothing handed in"),
        ([work, stray], "", "no hand-in found"),
        ([work, *not_read(lost)], "", "no hand-in found"),
    ):
        found, strays = standings(works, rules)
        anna, ben = table(found)
        assert (anna["final"], ben["final"], ben["status"]) == ("5", final, status)
        said = "\n".join(outputs.summary(found, strays, [], Path("out")))
        told = "1 student has no hand-in, and will get no mark until every hand-in has an author"
        assert (told in said) == (final == "")
        if stray in works:
            assert "Add its author to the roster, rename it to an id, or set platform" in said
            assert "; if it is a test student's, remove it from the folder" in said


def test_all_that_is_nobodys_is_told_before_students_problems():
    """The gradebook has no line of it, and has one of each student."""
    students = tuple(Student(f"s{each}", {"id": f"s{each}"}) for each in range(30))
    works = [Work(hand_in(each.id), None, f"lost {each.id}") for each in students]
    works += [Work(hand_in(f"zoe{each}"), grading()) for each in range(25)]
    rules = Rules(Roster(students), {}, Policy(), Questions(), NAMES)
    said = list(outputs.summary(*standings(works, rules), [], Path("out")))
    told = said[said.index("For you to decide:") + 1 :]
    assert all("names no student on the roster" in line for line in told[:25])
    assert all("not graded: lost" in line for line in told[25:45])
    assert told[45] == "  and 10 more, listed in gradebook.csv"


def test_a_problem_of_several_students_is_told_once():
    students = tuple(Student(f"s{each}", {"id": f"s{each}"}) for each in range(30))
    works = [Work(hand_in(each.id), None, "lost") for each in students]
    rules = Rules(Roster(students), {}, Policy(), Questions(), NAMES)
    said = list(outputs.summary(*standings(works, rules), [], Path("out")))
    first = ", ".join(f"s{each}" for each in range(10))
    lost = [line for line in said if "lost" in line]
    assert lost == [f"  {first}, and 20 more: not graded: lost"]


def test_a_hand_in_of_two_numbers_says_so():
    roster = Roster(
        (Student("a", {"id": "a", "canvas": "1"}), Student("b", {"id": "b", "moodle": "2"}))
    )
    work = Work(hand_in("x", {"canvas": "1", "moodle": "2"}), grading())
    found, strays = standings([work], Rules(roster, {}, Policy(), Questions(), NAMES))
    said = "\n".join(outputs.summary(found, strays, [], Path("out")))
    assert "x names several students on the roster. Find its author" in said
    assert "2 students have no hand-in, and will get no mark" in said


TEAM = Roster(tuple(Student(each, {"id": each}, "blue") for each in ("aa", "bb")))


def test_a_hand_in_of_a_team_is_late_for_all_of_it_and_says_who_sent_it():
    """But for whom the course has given more time; points for the team are everybody's."""
    late = hand_in("aa", at=AT + timedelta(hours=1))
    policy = Policy(AT, late_per_day=0.5, extensions={"bb": AT + timedelta(days=1)})
    marks = {"blue": {"method": Given(1, "", "x")}}
    work = Work(late, grading(report(manual=(("method", 3.0),))))
    found, strays = standings([work], Rules(TEAM, marks, policy, Questions(), NAMES))
    assert [each.final for each in found] == [3.0, 6.0] and not strays.keys
    assert [each.team for each in found] == ["", "handed in by aa for blue"]
    assert "handed in by aa for blue" in table(found)[1]["reasons"]
    assert len(reports_of(found)) == 1


def test_a_row_for_all_of_it_gives_a_mark_to_what_nobody_can_open():
    """Until then it has none."""
    unread = [replace(hand_in("aa"), digest="", problem="aa cannot be read: it is damaged")]
    for marks, final in (({}, None), ({"blue": {"all": Given(0, "damaged", "x")}}, 0.0)):
        rules = Rules(TEAM, marks, Policy(), Questions(max_points=5), NAMES)
        found, _ = standings(not_read(*unread), rules)
        assert [each.final for each in found] == [final, final]
        assert {each.status for each in found} == {"not graded" if final is None else "marked"}
        assert bool(found[0].problem) is (final is None)


def test_a_hand_in_without_a_grading_is_worth_what_published_ones_are():
    """A dearer price in the course of today is not published yet; without a grading it counts."""
    unread = [replace(hand_in("aa"), digest="", problem="aa cannot be read: it is damaged")]
    roster = Roster(tuple(Student(each, {"id": each}) for each in ("aa", "bb", "cc")))
    marks = {"aa": {"all": Given(3, "damaged", "x")}}
    rules = Rules(roster, marks, Policy(), Questions(max_points=9), NAMES)
    graded = [Work(hand_in("bb"), grading(report(manual=(("method", 3.0),))))]
    for others, most in ((graded, "8"), ([], "9")):
        found, _ = standings([*not_read(*unread), *others], rules)
        rows = {row["id"]: row["max"] for row in table(found)}
        assert rows["aa"] == rows["cc"] == most


def test_who_has_handed_in_nothing_may_have_points_for_all_of_it():
    """Also while some hand-ins have no author; a row for a question alone gives none."""
    stray = Work(hand_in("zz"), grading())
    for row, final in (("all", 3.0), ("method", None)):
        marks = {"aa": {row: Given(3, "an oral examination", "x")}}
        rules = Rules(TEAM, marks, Policy(), Questions(max_points=5), NAMES)
        first = standings([stray], rules)[0][0]
        assert first.final == final
        assert first.status == ("marked" if final else "no hand-in found")


def test_a_file_with_another_name_is_for_a_person():
    """Its student may have forgotten nothing but a name, so the part is no zero yet."""
    told = "mine.py defines ringallreduce: rename mine.py to my_ring_allreduce.py"
    missed = replace(
        part("ring"),
        verdict=Verdict.NOT_ATTEMPTED,
        points=0.0,
        tests=(),
        message=f"not handed in. {told}",
        notes=(Finding("note.unused_file", told), Finding("note.other", "rename nothing")),
    )
    found = standing(grading(report([missed, part("sum")])))
    assert (found.status, found.final) == ("needs review", None)
    assert [row.name for row in found.mark.lines] == ["ring"]
    assert found.problem == (
        "ring: mine.py defines ringallreduce: rename mine.py to my_ring_allreduce.py"
    )
    assert f"  anna: {found.problem}" in outputs.summary([found], Strays(), [], Path("out"))
    assert gradebook.render([found], NAMES).count("mine.py defines") == 1
    assert "mine.py defines" in class_page.render("class", [found], NAMES, [])
    for points in (0, 4):
        settled = standing(found.counted.grading, marks={"anna": {"ring": Given(points, "", "x")}})
        assert (settled.final, settled.problem) == (5 + points, "")


def test_impossible_marks_of_several_students_are_told_at_once():
    """Those of a team once, and not for each of its members."""
    roster = Roster((*TEAM.listed, Student("cleo", {"id": "cleo"})))
    works = [Work(hand_in("blue"), grading()), Work(hand_in("cleo"), grading())]
    marks = {"blue": {"ring": Given(6, "", "a")}, "cleo": {"ring": Given(7, "", "b")}}
    with pytest.raises(UsageError) as raised:
        standings(works, Rules(roster, marks, Policy(), Questions(), NAMES))
    worth = "but ring is worth 5"
    assert raised.value.args == (f"a: 6 points, {worth}", f"b: 7 points, {worth}")
