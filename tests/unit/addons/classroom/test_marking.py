"""Marks of tests and people together: pending is no zero, and doubt is a person's to settle."""

import csv
from dataclasses import replace

import pytest
from class_samples import grading, part, report, test_result

from grader.addons.classroom import marking, marking_sheets
from grader.addons.classroom.marking import WHOLE, Given, Questions, mark
from grader.model.errors import UsageError
from grader.model.report import HandedInFile, Verdict

RUBRICS = Questions({"method": ((2.0, "what is measured"), (1.0, "on what machine"))})
MANUAL = grading(report(manual=(("method", 3.0), ("volume", 2.0))))


def given(points, comment=""):
    return Given(points, comment, "marks.csv, line 2")


def test_what_a_person_marks_is_pending_until_then():
    """Line by line of the rubric, or as a whole."""
    found = mark(MANUAL, {}, RUBRICS)
    assert (found.score, found.pending, found.max_score) == (5.0, 5.0, 10.0)
    assert [row.name for row in found.rows] == ["method/1", "method/2", "volume"]
    some = mark(MANUAL, {"method/1": given(1.5), "volume": given(2)}, RUBRICS)
    assert (some.score, some.pending, some.given) == (8.5, 1.0, 3.5)
    whole = mark(MANUAL, {"method": given(3)}, RUBRICS)
    assert [row.name for row in whole.rows] == ["method", "volume"]
    assert (whole.score, whole.pending) == (8.0, 2.0)


@pytest.mark.parametrize("verdict", [Verdict.NOT_PROVEN, Verdict.JUDGE_ERROR])
def test_doubt_is_no_mark_until_a_person_settles_the_part(verdict):
    """Both are kept: what the tests found, and what a person gave in its place."""
    doubtful = grading(
        report([part("ring", [test_result(verdict=verdict, points=0)]), part("two")])
    )
    found = mark(doubtful, {}, Questions())
    assert found.score is None and found.problem == "ring must be reviewed by hand"
    settled = mark(doubtful, {"ring": given(4, "an honest ring")}, Questions())
    assert (settled.score, settled.problem) == (9.0, "")
    assert (settled.automatic, settled.given, settled.max_score) == (5.0, 4.0, 10.0)
    assert settled.overruled["ring"].comment == "an honest ring"


EMPTY = grading(
    error="the hand-in is empty; expected the files that the handout names", exit_code=2
)
SET = Questions(files={"method": "report.pdf"}, max_points=10.0, missing_is_zero=True)


@pytest.mark.parametrize("bad", [EMPTY, grading(error="it is damaged", exit_code=2), None])
def test_a_row_for_all_of_it_settles_what_cannot_be_graded(bad):
    """Also what has no grading, such as an archive that nobody can open."""
    found = mark(bad, {WHOLE: given(0, "nothing in it")}, Questions(max_points=10.0))
    assert (found.score, found.problem, found.max_score) == (0.0, "", 10.0)
    assert found.overruled[WHOLE].comment == "nothing in it"
    with pytest.raises(UsageError, match=r"11 points, but all is worth 10"):
        mark(bad, {WHOLE: given(11)}, Questions(max_points=10.0))


def test_a_row_for_all_of_it_stands_in_place_of_everything():
    found = mark(MANUAL, {WHOLE: given(7), "volume": given(2)}, RUBRICS)
    assert (found.score, found.pending, found.max_score, found.rows) == (7.0, 0.0, 10.0, ())


def test_an_empty_hand_in_is_a_zero_only_where_class_toml_says_so():
    """What is damaged is none, whatever it says."""
    assert mark(EMPTY, {}, Questions()).score is None
    found = mark(EMPTY, {}, SET)
    assert (found.score, found.markers) == (0.0, ["class.toml"])
    assert found.overruled[WHOLE].comment == "the hand-in is empty"
    assert mark(EMPTY, {WHOLE: given(2)}, SET).score == 2
    assert mark(grading(error="it is damaged", exit_code=2), {}, SET).score is None


def test_a_report_that_nobody_handed_in_is_a_zero_only_where_class_toml_says_so():
    """And one that was handed in and cannot be read is a person's."""
    asked = Questions({"method": ((2.0, "a"), (1.0, "b"))}, {"method": "report.pdf"})
    asked_of_nobody = replace(asked, missing_is_zero=True)
    found = report(manual=(("method", 3.0),))
    code = HandedInFile("ring.py", "ring.py", True, "it has its name")
    pdf = HandedInFile("r.pdf", "report.pdf", False, "is damaged")
    without, with_it = (grading(replace(found, files=each)) for each in ((code,), (code, pdf)))
    assert mark(without, {}, asked).pending == 3.0
    zero = mark(without, {}, asked_of_nobody)
    assert (zero.pending, zero.score, zero.markers) == (0.0, 5.0, ["class.toml"])
    some = mark(without, {"method/1": given(2)}, asked_of_nobody)
    assert (some.pending, some.score) == (0.0, 7.0)
    assert mark(with_it, {}, asked_of_nobody).pending == 3.0
    # What class.toml gives is no line that somebody has filled in.
    (_, *lines) = marking_sheets.to_fill([("s1", "d" * 64, zero.lines)]).splitlines()
    assert [line.split(",")[2] for line in lines] == ["", ""]


def test_what_tests_leave_to_a_person_has_a_line(tmp_path):
    """With what the tests found; what was given before stays in it."""
    doubtful = part("ring", [test_result(verdict=Verdict.NOT_PROVEN, points=0)])
    doubtful = replace(doubtful, message="the evidence does not agree: ring.py:7")
    open_one = mark(grading(report([doubtful])), {}, Questions())
    given_one = mark(grading(report([doubtful])), {"ring": given(4, "honest")}, Questions())
    bad = mark(EMPTY, {}, Questions())
    file = tmp_path / "to-mark.csv"
    marks = (("s1", open_one), ("s2", given_one), ("s3", bad))
    file.write_text(marking_sheets.to_fill([(name, "d" * 64, each.lines) for name, each in marks]))
    rows = {row["id"]: row for row in csv.DictReader(file.open())}
    assert rows["s1"]["row"] == rows["s2"]["row"] == "ring"
    assert (rows["s1"]["points"], rows["s2"]["points"]) == ("", "4")
    assert rows["s1"]["title"] == "the evidence does not agree: ring.py:7"
    assert (rows["s3"]["row"], rows["s3"]["points"]) == ("all", "")
    assert list(marking.read([file])) == ["s2"]


def test_two_assistants_have_a_file_each_and_say_who_they_are(tmp_path):
    """Points for one line in both files are told with both places."""
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("id,row,points,by\nanna,method/1,2,kim\nanna,volume,,\n")
    other.write_text("id,row,points,by\nanna,method/1,,\nanna,volume,1,lou\n")
    marks = marking.read([one, other])["anna"]
    found = mark(MANUAL, marks, RUBRICS)
    assert (found.given, found.markers) == (3.0, ["kim", "lou"])
    other.write_text("id,row,points,by\nanna,method/1,1,lou\n")
    with pytest.raises(
        UsageError, match=r"other.csv, line 2: method/1 of anna .*one.csv, line 2; "
    ):
        marking.read([one, other])


def test_all_conflicts_of_two_assistants_are_told_at_once(tmp_path):
    """Each with both places, and in a sentence of its own."""
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("id,row,points\nanna,volume,1\nbert,volume,1\ncleo,volume,1\n")
    other.write_text("id,row,points\nanna,volume,2\nbert,method,2\ncleo,volume,0\n")
    with pytest.raises(UsageError) as raised:
        marking.read([one, other])
    assert list(raised.value.args) == [
        f"{other}, line {line}: volume of {student} also has points in {one}, line {line}; "
        "keep only the entry that counts"
        for student, line in (("anna", 2), ("cleo", 4))
    ]


def test_all_marks_of_a_hand_in_that_cannot_be_right_are_told_at_once():
    wrong = {"method/1": Given(1, "", "a"), "method": Given(2, "", "b"), "volume": given(9)}
    with pytest.raises(UsageError) as raised:
        mark(MANUAL, {**wrong, "ring": given(6)}, RUBRICS)
    starts = ["b: method also has points in a;", "marks.csv, line 2: 9", "marks.csv, line 2: 6"]
    assert len(raised.value.args) == len(starts)
    assert all(map(str.startswith, raised.value.args, starts))


def test_what_cannot_be_graded_is_no_zero():
    found = mark(grading(error="hw.zip is damaged", exit_code=2), {}, Questions())
    assert found.score is None and found.problem == "cannot be graded: hw.zip is damaged"


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"methods": given(1)}, "no 'methods' to grade by hand; expected one of: ring"),
        ({"method/3": given(1)}, "no 'method/3'"),
        ({"volume": given(2.5)}, "2.5 points, but volume is worth 2"),
        ({"ring": given(6)}, "6 points, but ring is worth 5"),
    ],
)
def test_marks_that_cannot_be_right_are_refused_with_their_line(wrong, problem):
    with pytest.raises(UsageError, match=f"marks.csv, line 2: .*{problem}"):
        mark(MANUAL, wrong, RUBRICS)


def test_points_for_a_part_and_for_its_questions_are_told_with_both_places():
    """Such as an appeal, beside the sheet of an assistant, which is not wrong."""
    both = {"method/1": Given(1, "", "kim.csv"), "method": Given(2, "", "appeal.toml")}
    with pytest.raises(UsageError, match=r"^appeal.toml: method also has points in kim.csv; keep"):
        mark(MANUAL, both, RUBRICS)


def test_marks_come_from_a_csv_or_a_toml(tmp_path):
    table = tmp_path / "marks.csv"
    table.write_text("id,row,points,comment\nanna,method/1,1.5,good\nanna,volume,,\n")
    tables = tmp_path / "marks.toml"
    tables.write_text('[anna]\n"method/1" = { points = 1.5, comment = "good" }\n')
    local = tmp_path / "local.csv"
    local.write_text("id;row;points;comment\nanna;method/1;1,5;good\n")
    for file in (table, tables, local):
        found = marking.read([file])
        assert [(row, each.points, each.comment) for row, each in found["anna"].items()] == [
            ("method/1", 1.5, "good")
        ]


@pytest.mark.parametrize("digest", ["12e4567890123", "0123456789012", "abcdef"])
def test_no_spreadsheet_makes_a_number_of_a_digest(tmp_path, digest):
    """It would come back as 1.2E+13, and the mark would be for no hand-in."""
    file = tmp_path / "to-mark.csv"
    filled = mark(MANUAL, {"method": given(3)}, RUBRICS)
    file.write_text(marking_sheets.to_fill([("s1", digest, filled.lines)]))
    (line,) = [line for line in file.read_text().splitlines() if "method" in line]
    with pytest.raises(ValueError, match="could not convert"):
        float(line.rpartition(",")[2])
    assert digest.startswith(marking.read([file])["s1"]["method"].digest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,row,points\nanna,volume,two\n", "line 2: found 'two'; expected a number of points"),
        ("id,row,points\nanna,volume,-1\n", "line 2: found '-1'; expected a number of points"),
        ("id,row,points\nanna,volume,nan\n", "line 2: found 'nan'; expected a number of points"),
        (
            "id,row,points\nanna,volume,1\nanna,volume,2\n",
            "line 3: volume of anna also has points in .*line 2",
        ),
        ("id,row,points\nanna,volume\n", "line 2 has 2 cells; expected 3"),
        ("id,row\nanna,volume\n", "has no column points"),
        ("id,row,points,grade\n", "has a column 'grade'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, text, problem):
    file = tmp_path / "marks.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        marking.read([file])


def test_a_part_on_which_the_grader_failed_is_no_zero():
    """Also where no test of it could be run, as of a suite that is not right."""
    failed = replace(part("ring"), verdict=Verdict.JUDGE_ERROR, points=0.0, tests=(), message="no")
    found = mark(grading(report([failed, part("sum")])), {}, Questions())
    assert (found.automatic, found.score) == (5.0, None)
    assert found.problem == "ring must be reviewed by hand"
    given = {"ring": Given(3, "", "x")}
    assert mark(grading(report([failed, part("sum")])), given, Questions()).score == 8
