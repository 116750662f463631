"""A platform's own table comes back with grades in it, and nothing else changed.

The tables are those of the documentation of Canvas (gradebook export) and Moodle (offline grading
worksheet).
"""

import csv
import io
import zipfile

import pytest
from class_samples import NAMES, grading, hand_in, report, standing

from grader.addons.classroom import platform_return
from grader.addons.classroom.marking import Given, Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import Roster, Student
from grader.addons.classroom.standing import Rules, Work, standings
from grader.model.errors import UsageError

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,HW3: MPI (9001),HW4 (9002),Assignments Current Score
    Points Possible,,,,,5,10,(read only)
"Ahn, Ann",201,aa,aa@example.org,A,,7,
"Other, O",999,,zz,A,,8,
"""
MOODLE = """\
Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Feedback comments
Participant 101,Ann Ahn,aa,ann@example.org,Submitted,,5.00,
Participant 999,O Other,zz,o@example.org,Submitted,,5.00,
"""
ROSTER = Roster((Student("aa", {"id": "aa", "name": "Ann Ahn", "canvas": "201", "moodle": "101"}),))


def fill(text, file, standings, column):
    return platform_return.fill(platform_return.parse(text, file, column), standings)


def rows(filled):
    return list(csv.reader(io.StringIO(filled.text)))


def test_canvas_gets_its_column_filled():
    """Only the one that was named; the line of possible points stays."""
    found = fill(CANVAS, "g.csv", [standing(label="aa", roster=ROSTER)], "HW3")
    before = list(csv.reader(io.StringIO(CANVAS)))
    before[2][5] = "5"
    assert rows(found) == before
    assert found.num_filled == 1
    assert found.left == ("Other, O matches no student graded here",)


def test_an_empty_heading_of_canvas_takes_no_comments():
    """Spreadsheets leave one behind the last column."""
    table = "".join(f"{line},\n" for line in CANVAS.splitlines())
    row = rows(fill(table, "g.csv", [standing(label="aa", roster=ROSTER)], "HW3"))[2]
    assert (row[5], row[-1]) == ("5", "")


def test_a_table_with_semicolons_stays_one():
    """As Canvas writes it where numbers have decimal commas; names of assignments may have some."""
    european = CANVAS.replace(", ", "@").replace(",", ";").replace("@", ", ").replace('"', "")
    european = european.replace("HW3: MPI", "HW3, MPI")
    found = fill(european, "g.csv", [standing(label="aa", roster=ROSTER)], "HW3")
    assert found.num_filled == 1
    assert found.text == european.replace("Section;", "Section;").replace(";A;;7;", ";A;5;7;")


def test_moodle_gets_grade_and_reasons():
    found = fill(MOODLE, "g.csv", [standing(label="aa", roster=ROSTER)], None)
    assert rows(found)[1][5] == "5"
    assert rows(found)[2][5] == ""
    assert found.num_filled == 1


@pytest.mark.parametrize("table", [CANVAS, MOODLE])
def test_what_is_pending_is_left_as_it_was(table):
    """A mark that a person has still to complete is not for the platform."""
    pending = standing(grading(report(manual=(("method", 1.0),))), label="aa", roster=ROSTER)
    column = "HW4" if table == CANVAS else None
    table = table.replace(",5,10", ",5,6").replace("5.00", "6.00")
    found = fill(table, "g", [pending], column)
    assert found.num_filled == 0
    assert found.left[0] == "aa has no final mark: pending"
    marks = {"aa": {"method": Given(1, "", "x")}}
    full = standing(
        grading(report(manual=(("method", 1.0),))), label="aa", roster=ROSTER, marks=marks
    )
    assert fill(table, "g", [full], column).num_filled == 1


def test_another_number_of_points_is_refused():
    """It would be the wrong mark for everybody."""
    with pytest.raises(UsageError, match=r"HW4.*is worth 10 points there, but 5 here"):
        require(CANVAS, "HW4")
    moodle = MOODLE.replace("5.00", '"100,00"')
    for table in (moodle, moodle.replace("Maximum Grade", "Maximum grade")):
        with pytest.raises(UsageError, match="is worth 100\\.00 points there, but 5 here"):
            require(table, None)


def require(text, column):
    table = platform_return.parse(text, "g.csv", column)
    platform_return.require_same_worth(table, [standing(label="aa", roster=ROSTER)])


def test_a_title_is_not_taken_for_another_that_begins_alike():
    """HW 1 is not HW 10, and is chosen beside HW 1 again."""
    table = CANVAS.replace("HW3: MPI", "HW 10").replace("HW4", "HW 1: again")
    table = table.replace(",5,10,", ",5,5,")
    one = [standing(label="aa", roster=ROSTER)]
    assert rows(fill(table, "g", one, "HW 1"))[2][5:7] == ["", "5"]
    with pytest.raises(UsageError, match="no columns match 'HW 1'; name one with --column"):
        fill(table.replace("HW 1: again", "HW2"), "g", one, "HW 1")
    both = table.replace("HW 10", "HW 1")
    for column in ("HW 1", "HW 1 (9001)"):
        assert rows(fill(both, "g", one, column))[2][5:7] == ["5", "7"]


def test_each_of_a_group_gets_the_own_mark_and_feedback_goes_to_who_sent_it():
    """Not those of the other one, which an extension or a person's points make another."""
    pair = Roster(
        (
            Student("aa", {"id": "aa", "name": "Ann Ahn"}, "g1"),
            Student("bb", {"id": "bb", "name": "Bo Bo"}, "g1"),
        )
    )
    sent = Work(hand_in("ahnann_201", {"canvas": "201", "canvas_name": "ahnann"}), grading())
    marks = {"bb": {"ring": Given(1, "only for Bo", "x")}}
    found, _ = standings([sent], Rules(pair, marks, Policy(), Questions(), NAMES))
    table = CANVAS.replace("aa,aa@example.org", ",")
    assert rows(fill(table, "g.csv", found, "HW3"))[2][5] == "5"
    with zipfile.ZipFile(io.BytesIO(platform_return.feedback_zip(found))) as archive:
        assert b"only for Bo" not in archive.read("ahnann_201_mark.txt")


def test_a_number_that_two_have_is_nobodys():
    both = Roster(
        (Student("aa", {"id": "aa", "canvas": "201"}), Student("bb", {"id": "bb", "canvas": "201"}))
    )
    works = [Work(hand_in(name), grading()) for name in ("aa", "bb")]
    found, _ = standings(works, Rules(both, {}, Policy(), Questions(), NAMES))
    filled = fill(CANVAS.replace("aa,aa@", ",aa@"), "g.csv", found, "HW3")
    assert filled.num_filled == 0


def test_a_table_of_another_class_is_one_sentence():
    found = fill(CANVAS, "g.csv", [standing(label="zoe")], "HW3")
    (told,) = found.left
    assert told.startswith(
        "no student in g.csv matches one graded here; export the table of this class"
    )
    assert found.num_filled == 0


def test_who_may_have_handed_in_gets_no_zero():
    """As long as a hand-in is nobody's, for it may be theirs."""
    rules = Rules(ROSTER, {}, Policy(), Questions(), NAMES)
    found, _ = standings([], rules)
    assert rows(fill(CANVAS, "g.csv", found, "HW3"))[2][5] == "0"
    found, _ = standings([Work(hand_in("zoe"), grading())], rules)
    filled = fill(CANVAS, "g.csv", found, "HW3")
    assert rows(filled)[2][5] == ""
    assert filled.left[0] == "aa has no final mark: no hand-in found"


def test_a_line_that_is_cut_is_told_and_an_empty_one_is_nothing():
    cut = CANVAS.replace(",A,,8,\n", ",A\n")
    table = cut.replace("\n    Points", "\n\n    Points")
    found = fill(table, "g.csv", [standing(label="aa", roster=ROSTER)], "HW3")
    assert found.num_filled == 1
    assert found.left == ("Other, O has 5 cells; expected 8",)


@pytest.mark.parametrize(
    ("table", "column", "problem"),
    [
        (CANVAS, None, "2 columns match an assignment; name one with --column: HW3"),
        (CANVAS, "HW9", "no columns match 'HW9'"),
        ("a,b\n1,2\n", None, "neither a Canvas gradebook"),
        ("", None, "neither a Canvas gradebook"),
    ],
)
def test_a_table_that_cannot_be_filled_is_one_sentence(table, column, problem):
    with pytest.raises(UsageError, match=problem):
        fill(table, "g.csv", [standing()], column)


@pytest.mark.parametrize(
    ("sent_as", "name"),
    [
        ("Ann Ahn_101_assignsubmission_file_/", "Ann Ahn_101_assignsubmission_file_/report.html"),
        ("ahnann_201_7_", "ahnann_201_7_report.html"),
        ("", "ahn_report.html"),
    ],
)
def test_feedback_is_called_as_the_platform_had_called_the_hand_in(sent_as, name):
    """And the same marks make the same file."""
    work = Work(hand_in("ahn", sent_as=sent_as), grading())
    found, _ = standings([work], Rules(Roster(), {}, Policy(), Questions(), NAMES))
    made = platform_return.feedback_zip(found)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert name in archive.namelist()
        assert b"/home/prof" not in archive.read(name)
    assert made == platform_return.feedback_zip(found)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("J\udce9", "J-udce9_mark.txt"),
        ("..\\..\\x\n\u202e", "-..-x-x0a-u202e_mark.txt"),
        ("C:x", "C-x_mark.txt"),
    ],
)
def test_feedback_for_any_name_is_unpacked_where_it_says(label, name):
    """On any system, and without what a listing of the zip does not show."""
    made = platform_return.feedback_zip([standing(label=label)])
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.namelist() == [name.replace("mark.txt", "report.html"), name]


def test_what_students_write_on_moodle_is_not_calculated():
    """Nothing else is changed: neither a time that is missing, nor what a teacher has written."""
    head = "Identifier,Full name,City/town,Online text,Last modified (submission),Grade"
    head += ",Maximum Grade,Feedback comments"
    line = "Participant 999,=1,=HYPERLINK(1),+2,-,-,5.00,-1 for style"
    filled = rows(fill(f"{head}\n{line}\n", "g.csv", [standing(label="aa", roster=ROSTER)], None))
    own = line.replace("=1", "'=1").replace("=HYPER", "'=HYPER").replace("+2", "'+2")
    assert filled == [head.split(","), own.split(",")]


def test_moodle_gets_what_people_wrote_and_a_folder_for_each_of_a_team():
    """Its column of comments has each line of the mark; folders are those of the numbers."""
    team = Roster(
        tuple(
            Student(each, {"id": each, "name": name, "moodle": number}, "blue")
            for each, name, number in (("aa", "Ann Ahn", "101"), ("bb", "Bo Bell", "102"))
        )
    )
    sent = hand_in(
        "x", {"moodle": "101", "name": "Ann Ahn"}, sent_as="x_101_assignsubmission_file_/"
    )
    work = Work(sent, grading(report(manual=(("method", 3.0),))))
    marks = {"blue": {"method": Given(2, "no error bars", "x")}}
    found, _ = standings([work], Rules(team, marks, Policy(), Questions(), NAMES))
    filled = fill(MOODLE.replace("5.00", "8.00"), "g.csv", found, None)
    assert rows(filled)[1][-1] == "checks: 5 of 5; method: 2 of 3 (no error bars)"
    with zipfile.ZipFile(io.BytesIO(platform_return.feedback_zip(found))) as archive:
        names = sorted(archive.namelist())
        assert [name for name in names if name.endswith("mark.txt")] == [
            "Bo Bell_102_assignsubmission_file_/mark.txt",
            "x_101_assignsubmission_file_/mark.txt",
        ]
        assert b"handed in by aa for blue" in archive.read(names[1])
