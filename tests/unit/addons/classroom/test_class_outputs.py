"""What comes of a class: a gradebook that calculates nothing, pages that name nobody."""

import csv
import io
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from class_samples import (
    AT,
    NAMES,
    grading,
    hand_in,
    outcome,
    part,
    report,
    standing,
    test_result,
)

from grader.addons.classroom import (
    class_page,
    gradebook,
    marking_sheets,
    outputs,
    publication,
)
from grader.addons.classroom.class_page import causes, histogram, rates, reports_of
from grader.addons.classroom.gradings import Gradings
from grader.addons.classroom.marking import Given, Questions, mark
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.publication import falling_back
from grader.addons.classroom.roster import Roster, Student
from grader.addons.classroom.similarity import Pair, Side, near_identical
from grader.addons.classroom.standing import Rules, Strays, Work, standings
from grader.course.courses import Courses, bundled
from grader.model.finding import Finding
from grader.model.points import UNSIGNED
from grader.model.report import HandedInFile, Verdict
from grader.report import json_report

WRONG = Verdict.WRONG_ANSWER


def table(standings):
    return list(csv.DictReader(io.StringIO(gradebook.render(standings, NAMES))))


def test_the_gradebook_keeps_raw_and_final_and_the_reasons():
    marks = {"anna": {"method": Given(2, "=cmd()", "x"), "ring": Given(4, "looked at", "x")}}
    ring = part("ring", [test_result(verdict=Verdict.NOT_PROVEN, points=0)])
    ring = replace(ring, message="your instructor reviews this part")
    doubtful = report([ring, part("sum")], manual=(("method", 3.0),))
    (row,) = table([standing(grading(doubtful), marks=marks)])
    assert (row["id"], row["score"], row["final"], row["max"]) == ("anna", "11", "11", "13")
    assert (row["ring"], row["ring verdict"]) == ("0", "NOT_PROVEN")
    assert (row["tests"], row["tests_max"], row["by_people"]) == ("5", "5", "6")
    assert row["reasons"] == "ring, graded by hand: 4: looked at"
    assert gradebook.mark_text(standing(grading(doubtful), marks=marks)).split("\n")[:4] == [
        *("11 of 13", "", "- checks of the other parts: 5 of 5"),
        "- ring, reviewed and graded by hand: 4 of 5 (looked at)",
    ]
    (before,) = table([standing(grading(doubtful))])
    assert "ring: your instructor reviews this part" in before["reasons"]
    (whole,) = table([standing(grading(doubtful), marks={"anna": {"all": Given(4, "", "x")}})])
    assert whole["reasons"] == "all, graded by hand: 4"
    assert (whole["tests"], whole["by_people"], whole["max"]) == ("", "4", "13")
    assert row["pseudonym"] == NAMES.of("anna")


def test_no_two_columns_have_one_name():
    parts = report([part("max"), part("score")])
    head, _ = csv.reader(io.StringIO(gradebook.render([standing(grading(parts))], NAMES)))
    assert len(set(head)) == len(head) and {"max points", "score points"} < {*head}


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        *((name, f"'{name}") for name in ("=1+1", "+1", "-1", "@x", "\uff1d1+1")),
        (" =1+1", " '=1+1"),
        ("\t=1", "\\x09=1"),
        ("x;=1+1", "x;'=1+1"),  # of a spreadsheet that separates cells so
        ("a\nb,c,d", "a\\x0ab,c,d"),
        ("\x1b[2J\u202ea", "\\x1b[2J\\u202ea"),
    ],
)
def test_a_cell_is_one_line_and_no_formula(name, cell):
    (row,) = table([standing(label=name)])
    assert row["id"] == cell


def test_the_gradebook_names_the_grading_that_counts(tmp_path):
    """Its folder has the full report, and the recording that can be judged again."""
    gradings = Gradings(tmp_path)
    gradings.keep("k1", outcome(), json_report.render(report()).encode(), b"recorded")
    (row,) = table([standing(gradings.load("k1"))])
    assert gradings.recording(row["grading"]).read_bytes() == b"recorded"


def test_nothing_without_a_mark_is_a_zero():
    damaged = standing(grading(error="hw.zip is damaged", exit_code=2))
    doubtful = standing(grading(report([part(tests=[test_result(verdict=Verdict.JUDGE_ERROR)])])))
    for each, status in ((damaged, "cannot be graded"), (doubtful, "needs review")):
        (row,) = table([each])
        assert (row["final"], row["status"]) == ("", status)


def test_a_students_files_tell_nothing_of_the_course_and_its_places():
    """The path of the instructor is in the report that is kept, and in none that goes out."""
    files = gradebook.files_of(standing())
    assert set(files) == {"mark.txt", "report.json", "report.html", "report.md"}
    assert all("/home/prof" not in text for text in files.values())
    assert files["mark.txt"].startswith("5 of 5")


def test_a_report_says_the_mark_that_lies_beside_it():
    """Nothing that a person has given is pending in it, nor is the sum another one."""
    found = report(manual=(("method", 3.0),))
    marks = {"anna": {"method": Given(2, "no error bars", "x")}}
    files = gradebook.files_of(standing(grading(found), marks=marks))
    assert files["mark.txt"].startswith("7 of 8\n")
    for name in ("report.json", "report.html", "report.md"):
        text = files[name].replace("\\", "")
        assert "Your mark: 7 of 8" in text and "method: 2 of 3 (no error bars)" in text
        assert "by hand" not in text and "ending" not in text.replace('"pending_points": 0', "")


def test_the_table_of_parts_has_a_row_for_each_question_that_a_person_grades():
    found = report(manual=(("method", 3.0), ("volume", 2.0)))
    marks = {"anna": {"method": Given(2.5, "", "x")}}
    files = gradebook.files_of(standing(grading(found), marks=marks))
    assert "| | method | graded by your instructor | 2.5 of 3 |" in files["report.md"]
    assert "| | volume | not graded yet | - of 2 |" in files["report.md"]
    _, _, table = files["report.html"].partition("The parts")
    for row in (
        ("method", "graded by your instructor", "2.5 of 3"),
        ("volume", "not graded yet", "-"),
    ):
        _, found, table = table.partition(f'<th scope="row">{row[0]}</th>')
        assert found and all(cell in table[:200] for cell in row[1:])


PROMISES = (
    "our records of this run disagree; your instructor reviews this part",
    "rank 0 called Put. Use messages instead; otherwise your instructor reviews this part",
    "Nothing shows that a rank changes a model. Your instructor reviews this part.",
)


def doubted(*messages):
    """Return a part with a check for each message that came to no verdict."""
    kinds = (Verdict.NOT_PROVEN, Verdict.JUDGE_ERROR)
    tests = [
        test_result(
            f"test_{number}",
            verdict=kinds[number % 2],
            points=0,
            message=message,
            findings=(Finding("evidence", message), Finding("x", "y", help=message)),
        )
        for number, message in enumerate(messages)
    ]
    return replace(part("ring", tests), message=messages[0])


@pytest.mark.parametrize("line", ["ring", "all"])
def test_no_report_promises_a_review_of_what_is_settled(line):
    """Not in its head, beside no points, and in no sentence of a finding."""
    marks = {"anna": {line: Given(3, "an honest ring", "x")}}
    found = grading(report([doubted(*PROMISES)]))
    files = gradebook.files_of(standing(found, marks=marks))
    told = json.loads(files["report.json"])
    assert not told["review"] and told["mark"]["settled"] == ["ring"]
    for name in ("report.json", "report.html", "report.md"):
        text = files[name].replace("\\", "")
        assert "instructor" not in text and "on hold" not in text and "not scored" not in text
        assert "no mark" not in text.lower()
        assert "Your mark: 3 of 15" in text and "an honest ring" in text
        assert "our records of this run disagree" in text and "Use messages instead" in text
    assert "graded by hand" in files["report.html"] and "graded by hand" in files["report.md"]


def test_a_part_that_a_person_has_graded_names_no_points_of_a_stage():
    """The page would say two different numbers of points."""
    text = "you get at least 6 of 15 points, because your code adds up all but one rank"
    shown = {"points": 6.0, "shown": "adds up all but one rank"}
    failed = part("ring", [test_result(verdict=WRONG, points=0, message="wrong sum")])
    found = grading(report([replace(failed, notes=(Finding("stage.paid", text, shown),))]))
    files = gradebook.files_of(standing(found, marks={"anna": {"ring": Given(4, "", "x")}}))
    for name in ("report.json", "report.html", "report.md"):
        assert "6 points" not in files[name] and "6 of 15" not in files[name]
        assert "your code adds up all but one rank" in files[name]
    assert "6 points awarded" in gradebook.files_of(standing(found))["report.html"]


def test_no_promise_is_worded_otherwise():
    """What a person settles takes each of them out of the page."""
    page = (Path(__file__).parents[4] / "docs" / "messages.md").read_text()
    rows = [row for row in page.splitlines() if "instructor reviews" in row]
    assert len(rows) > 10
    for row in rows:
        found = grading(report([doubted(*(cell.strip() for cell in row.split("|")[2:4]))]))
        marks = {"anna": {"ring": Given(3, "", "x")}}
        assert (
            "instructor reviews"
            not in gradebook.files_of(standing(found, marks=marks))["report.json"]
        )


def test_a_report_promises_a_review_until_a_person_has_decided():
    files = gradebook.files_of(standing(grading(report([doubted(*PROMISES)]))))
    assert "No mark yet\\. Your instructor reviews ring\\." in files["report.md"]


def test_a_mark_without_containers_is_not_called_none():
    """The class has no other: what a local check says of itself would contradict the mark."""
    local = replace(report(), mode="local", notes=(UNSIGNED,))
    files = gradebook.files_of(standing(grading(local)))
    for name in ("report.html", "report.md", "report.json"):
        assert "not your mark" not in files[name] and "not scored" not in files[name]
        assert "accepts the result as the mark" in files[name]
    sealed = gradebook.files_of(standing())
    assert "accepts the result as the mark" not in sealed["report.html"]


def test_the_page_of_the_class_has_no_names():
    """Pseudonyms alone, and what students have written is inert."""
    message = "4 ranks: <script>alert(1)</script> 3 elements differ at my_ring.py:7"
    wrong = test_result(verdict=WRONG, points=0, message=message)
    page = class_page.render(
        "sums",
        [
            standing(grading(report([part(tests=[wrong])])), label="anna-secret"),
            standing(grading(error="bob-secret is no archive", exit_code=2), label="bob-secret"),
        ],
        NAMES,
        [Pair((Side("s1"), Side("s2")), "ring.py", 0.97)],
    )
    assert "secret" not in page and "the hand-in is no archive" in page
    assert NAMES.of("anna-secret") in page
    assert "<script>" not in page and "97%" in page


def test_the_page_of_the_class_says_where_the_problems_of_nobody_are():
    """It cannot name them, so it must not say that there are none."""
    page = class_page.render("sums", [standing()], NAMES, [])
    assert "<p>Nothing.</p>" not in page and "<p>No student's hand-in.</p>" in page
    assert "Hand-ins and points of unknown students are listed only" in page


def test_a_short_name_is_not_taken_out_of_words():
    """A hand-in may be called `a`; and what the status says is not said twice."""
    bad = standing(grading(error="a is damaged, and cannot be unpacked", exit_code=2), label="a")
    page = class_page.render("sums", [bad], NAMES, [])
    assert "<td>the hand-in is damaged, and cannot be unpacked</td>" in page
    assert "\\x" not in class_page.render("sums", [standing()], NAMES, []).partition("<body>")[2]


def test_of_many_alike_the_most_alike_are_shown():
    pairs = [Pair((Side("s1"), Side(f"s{n}")), "ring.py", 1.0) for n in range(60)]
    page = class_page.render("sums", [standing()], NAMES, pairs)
    assert page.count(">ring.py</a>") == 50 and "50 of 60 pairs" in page


def test_two_hand_ins_of_which_nobody_knows_the_last_need_a_person():
    """Everywhere it is said why, and on the page of the class without their names."""
    roster = Roster((Student("anna", {"id": "anna", "github": "anna-secret"}),))
    works = [Work(hand_in(label, at=None), grading()) for label in ("anna", "anna-secret")]
    (found,), strays = standings(works, Rules(roster, {}, Policy(), Questions(), NAMES))
    assert (found.final, found.status) == (None, "needs review")
    why = "2 hand-ins, but not all have a time, so the last one is unknown"
    (row,) = table([found])
    assert why in row["reasons"] and row["final"] == ""
    assert why in gradebook.mark_text(found)
    assert any(why in line for line in outputs.summary([found], strays, [], Path("out")))
    page = class_page.render("sums", [found], NAMES, [])
    assert why in page and "secret" not in page


def test_no_file_of_an_earlier_time_is_left_with_a_student(tmp_path):
    """A report that does not count any more would be taken for the one that does."""
    gradebook.write_files(tmp_path, standing())
    gradebook.write_files(tmp_path, standing(grading(error="it is damaged", exit_code=2)))
    assert [file.name for file in tmp_path.iterdir()] == ["mark.txt"]


def test_what_is_noted_on_every_grading_is_told_once():
    """What is noted on one is for its student."""
    both = [
        replace(report(), notes=("the image is older", f"ignored {name}")) for name in ("a", "b")
    ]
    found = [standing(grading(each), label=f"s{n}") for n, each in enumerate(both)]
    told = list(outputs.summary(found, Strays(), [], Path("out")))
    assert [line for line in told if "note" in line] == [
        "note on every grading: the image is older"
    ]


def test_nobody_has_a_final_mark_while_something_is_pending():
    """What tests gave alone would be taken for it."""
    waiting = standing(grading(report(manual=(("method", 3.0),))), label="anna")
    assert (waiting.status, waiting.final, waiting.decision.raw) == ("pending", None, 5)
    (row,) = table([waiting])
    assert (row["score"], row["final"], row["pending"]) == ("5", "", "3")
    assert gradebook.mark_text(waiting).startswith("no mark yet: 3 of 8 points pending\n")
    told = list(outputs.summary([waiting], Strays(), [], Path("out")))
    by_hand = "pending: you must still give some points by hand"
    assert f"{by_hand}; --sheets writes grading sheets" in told
    told = list(outputs.summary([waiting], Strays(), [], Path("out"), has_sheets=True))
    assert by_hand in told


def test_who_lacks_the_file_of_a_question_is_named():
    files = (HandedInFile("ring.py", "ring.py", True, ""),)
    lacking = replace(report(manual=(("method", 3.0),)), files=files)
    asked = Questions(files={"method": "report.pdf"})
    found = [standing(grading(lacking), label=label, questions=asked) for label in ("anna", "ben")]
    found.append(standing(label="cleo"))
    told = list(outputs.summary(found, Strays(), [], Path("out")))
    missing = "anna, ben: pending questions whose file was not handed in; give points by hand, or"
    assert missing in told


def test_an_extension_of_nobody_is_told():
    """It may be meant for somebody, whose id is written otherwise."""
    policy = Policy(deadline=AT, extensions={"anna": AT, "ana": AT})
    found, strays = standings(
        [Work(hand_in("anna"), grading())], Rules(Roster(), {}, policy, Questions(), NAMES)
    )
    told = list(outputs.summary(found, strays, [], Path("out")))
    assert "  an extension is given to ana, which is neither a student's id nor a group" in told


def test_the_same_mistake_is_one_cause():
    """By its key, whatever the case, the numbers and the lines are."""
    found = [Finding("ring.tail", f"{n} of {n}0 differ", {"place": f"a{n}.py:{n}"}) for n in (2, 3)]
    results = [test_result(verdict=WRONG, points=0, findings=(each,)) for each in found]
    other = replace(results[0], findings=(Finding("ring.head", "2 of 20 differ"),))
    reports = [(f"s{i}", report([part(tests=[each])])) for i, each in enumerate([*results, other])]
    tail, head = causes(reports)
    assert tail == (["s0", "s1"], "ring", WRONG, "2 of 20 differ")
    assert head[0] == ["s2"]


@pytest.mark.parametrize("fact", ["message", "call"])
def test_different_exceptions_or_calls_are_different_causes(fact):
    """Though their key is the same."""
    told = ("Allreduce", "Bcast", "Allreduce")
    found = [Finding("rule.call_not_allowed", each, {fact: each}) for each in told]
    results = [test_result(verdict=WRONG, points=0, findings=(each,)) for each in found]
    reports = [(f"s{i}", report([part(tests=[each])])) for i, each in enumerate(results)]
    assert [each[0] for each in causes(reports)] == [["s0", "s2"], ["s1"]]


def test_two_versions_of_a_course_in_one_class_are_told():
    """Their prices may differ."""
    other = replace(report(), versions=replace(report().versions, course_digest="d" * 64))
    found = [standing(grading(each), label=f"s{n}") for n, each in enumerate([report()] * 2)]
    assert not any("versions" in line for line in outputs.summary(found, Strays(), [], Path("out")))
    found.append(standing(grading(other), label="s2"))
    told = list(outputs.summary(found, Strays(), [], Path("out")))
    assert any("with different versions of the course: 2 and 1; --regrade" in line for line in told)


def test_reports_name_a_command_that_their_student_can_type():
    """Not the course's folder of hand-ins, which only the instructor has."""
    wrong = report([part(tests=[test_result(verdict=WRONG, points=0, message="no")])])
    each = hand_in("label", {"id": "anna"}, files=(Path("anna.zip"),))
    rules = Rules(Roster(), {}, Policy(), Questions(), NAMES)
    (found,), _ = standings([Work(each, grading(wrong))], rules)
    told = gradebook.files_of(found)["report.md"]
    assert "grade check . --assignment sums" in told and "grade run" not in told


def test_rates_are_those_of_who_attempted():
    missing = part("ring", [test_result(verdict=Verdict.NOT_ATTEMPTED, points=0)])
    found = rates(
        [report(), report([part(tests=[test_result(verdict=WRONG, points=0)])]), report([missing])]
    )
    assert found == [("ring", "test_sum holds.", 1, 2)]


def test_a_full_score_lies_in_the_last_bin():
    assert histogram([0, 9.99, 10, 99, 100], 100) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]


def code(names, extra=""):
    lines = [f"    {a} = {b} + {a} * 2\n    if {a} > {b}:\n        {b} -= 1" for a, b in names]
    return "def go(x, y):\n" + "\n".join(lines) + f"\n{extra}"


COPIED = code([("x", "y"), ("y", "x")] * 12, "    return [x for x in range(y) if x % 3 == 1]\n")
RENAMED = COPIED.replace("x", "value").replace("y", "other")
OTHER = "import numpy as np\n" + "\n".join(
    f"def f{i}(a):\n    while a.any():\n        a = np.roll(a, {i}) @ a\n    yield a.sum(), {i}"
    for i in range(25)
)


def test_copies_are_found_also_with_other_names():
    sources = {"a": {"ring.py": COPIED}, "b": {"ring.py": RENAMED}, "c": {"ring.py": OTHER}}
    (found,) = near_identical(sources, {})
    assert (found.students, found.file) == (("a", "b"), "ring.py")
    assert found.share > 0.9


def test_what_everybody_was_given_makes_no_pair_though_nobody_names_the_assignment():
    """Each hand-in is recognised by its files then, and compared with those of its assignment."""
    courses = Courses((bundled(),))
    assignment, other = courses.assignment("mpi_sgd"), courses.assignment("federated")
    name = "async_network.py"
    files = {each: {name: (assignment.template / name).read_bytes()} for each in ("a", "b")}
    assert outputs._pairs([(other, files)])
    assert not outputs._pairs([(assignment, files), (other, {"c": files["a"]})])


def test_a_pair_has_a_page_with_both_files_side_by_side(tmp_path):
    """Marked where both have the same; no page of an earlier time is left."""
    sources = {"a": {"ring.py": f"# mine\n\n{COPIED}"}, "b": {"ring.py": RENAMED}}
    pairs = near_identical(sources, {})
    assert all(1 not in side.alike or side.student == "b" for side in pairs[0].sides)
    assert len(pairs[0].sides[0].alike) > 60
    outputs.write(tmp_path, [standing()], NAMES, [*pairs, *pairs], "sums")
    outputs.write(tmp_path, [standing()], NAMES, pairs, "sums")
    assert [file.name for file in (tmp_path / "pairs").iterdir()] == ["1.html"]
    text = (tmp_path / "pairs" / "1.html").read_text()
    assert "<mark>    value = other + value * 2</mark>" in text and "<code># mine</code>" in text
    assert 'href="pairs/1.html"' in (tmp_path / "class.html").read_text()


@pytest.mark.parametrize(("share", "told"), [(1.0, "All of each"), (0.996, "At least 99% of each")])
def test_only_whole_files_are_called_all(share, told):
    page = class_page.render_pair(Pair((Side("s1"), Side("s2")), "ring.py", share))
    assert f"{told} file is also in the other" in page


def test_what_the_template_gives_is_no_copy():
    sources = {"a": {"ring.py": COPIED}, "b": {"ring.py": COPIED}}
    assert near_identical(sources, {"ring.py": COPIED}) == []
    assert near_identical(sources, {"another.py": COPIED}) != []


def test_a_folder_of_the_students_own_hides_no_copy_and_makes_none():
    """What the template has is that file, wherever it lies."""
    sources = {"a": {"my work/ring.py": COPIED}, "b": {"ring.py": RENAMED}}
    (found,) = near_identical(sources, {"ring.py": OTHER})
    assert (found.students, found.file) == (("a", "b"), "ring.py")
    sources = {each: {"my work/ring.py": COPIED} for each in ("a", "b")}
    assert near_identical(sources, {"ring.py": COPIED}) == []


def regraded(before, now, marks=None, policy=None):
    both = (
        standing(grading(each), marks={"anna": marks or {}}, policy=policy)
        for each in (before, now)
    )
    return publication.Regrade(*both)


def test_a_regrade_says_whose_mark_changes_by_which_test_and_why():
    wrong = test_result(verdict=WRONG, points=0, message="3 elements differ")
    found = regraded(report(), report([part(tests=[wrong])], engine="f" * 64))
    assert found.changes_mark and found.marks == ("5", "0")
    said = "\n".join(publication.summary([found, regraded(report(), report(engine="f" * 64))]))
    assert "2 students graded again: 1 mark changes" in said
    assert "engine changed from eeeeeeeeeeee to ffffffffffff" in said
    assert "anna: 5 -> 0 (ring: test_sum)" in said
    (line,) = list(csv.DictReader(io.StringIO(publication.render([found]))))
    assert (line["test"], line["why"]) == ("ring: test_sum", "3 elements differ")


def test_what_these_versions_have_graded_is_not_called_graded_again():
    again = regraded(report(), report(engine="f" * 64))
    said = list(publication.summary([again, regraded(report(), report())]))
    assert said[:2] == [
        "1 student graded again: 0 marks change",
        "  already graded with these versions, so not again: 1 student",
    ]


def test_a_regrade_compares_the_marks_that_students_see():
    """With what people gave, and after the deduction for lateness."""
    manual = (("method", 3.0),)
    wrong = report([part(tests=[test_result(verdict=WRONG, points=0)])], manual=manual)
    before = report(manual=manual)
    assert regraded(before, wrong).marks == ("5, 3 pending", "0, 3 pending")
    assert regraded(before, wrong, {"method": Given(2, "", "x")}).marks == ("7", "2")
    ring = {"method": Given(2, "", "x"), "ring": Given(4, "", "x")}
    settled = regraded(before, wrong, ring)
    assert settled.marks == ("6", "6") and settled.lines and not settled.changes_mark
    doubtful = report([part(tests=[test_result(verdict=Verdict.NOT_PROVEN, points=0)])])
    assert regraded(report(), doubtful).marks == ("5", "needs review")
    assert regraded(report(), doubtful, {"ring": Given(4, "", "x")}).marks == ("4", "4")
    late = Policy(AT - timedelta(hours=1), late_per_day=0.1)
    assert regraded(report(), wrong, policy=late).marks == ("4.5", "0, 3 pending")


def test_a_mark_that_changes_without_any_report_is_told():
    """As when an assistant gives points for a hand-in that could not be graded."""
    marked = Rules(Roster(), {"anna": {"all": Given(4, "", "x")}}, Policy(), Questions(), NAMES)
    for each in (grading(), grading(error="it is damaged", exit_code=2)):
        works = [Work(hand_in(), each)]
        both = [standings(works, rules)[0][0] for rules in (replace(marked, marks={}), marked)]
        found = publication.Regrade(*both)
        assert found.changes_mark and len(found.lines) == 1


def test_a_damaged_gradebook_is_compared_with_nothing():
    assert gradebook.changes("id,final\n" + "x" * 200_000, "id,final\nanna,5\n") == []


def test_a_regrade_counts_students_and_not_hand_ins():
    """Two students of a team, and one hand-in of theirs."""
    team = Roster(tuple(Student(name, {"id": name}, "g1") for name in ("anna", "ben")))
    rules = Rules(team, {}, Policy(), Questions(), NAMES)
    wrong = report([part(tests=[test_result(verdict=WRONG, points=0)])])
    both = [standings([Work(hand_in(), grading(each))], rules)[0] for each in (report(), wrong)]
    said = list(publication.summary([*map(publication.Regrade, *both)]))
    assert said[0] == "2 students graded again: 2 marks change"
    assert said[-1] == "  anna, ben: 5 -> 0 (ring: test_sum)"


def test_tests_that_are_new_or_gone_are_told():
    found = regraded(report(), report([part(tests=[test_result(), test_result("test_new")])]))
    assert [(line.test, line.why) for line in found.lines] == [("ring: test_new", "new")]


def test_other_prices_and_questions_are_told_though_no_verdict_is_another():
    dearer = replace(test_result(), points=7.0, max_points=7.0)
    found = regraded(
        report(manual=(("method", 3.0),)),
        report([part(tests=[dearer])], manual=(("method", 4.0), ("figures", 2.0))),
    )
    assert [(line.test, line.before, line.now) for line in found.lines] == [
        ("ring: test_sum", "5 of 5 points", "7 of 7 points"),
        ("figures", "", "2"),
        ("method", "3", "4"),
    ]


def test_marks_that_differ_from_the_previous_gradebook_are_told(tmp_path, capsys):
    """New, changed and withdrawn ones; who has none before and after is left out."""
    wrong = report([part(tests=[test_result(verdict=WRONG, points=0)])])
    doubtful = report([part(tests=[test_result(verdict=Verdict.NOT_PROVEN, points=0)])])
    before = {"aa": report(), "bb": report(), "cc": doubtful, "dd": doubtful, "ff": report()}
    now = {"aa": wrong, "bb": doubtful, "cc": report(), "dd": doubtful, "ee": wrong, "ff": report()}
    texts = [
        gradebook.render(
            [standing(grading(each), label=label) for label, each in all_.items()], NAMES
        )
        for all_ in (before, now)
    ]
    found = gradebook.changes(*texts)
    assert found == [
        ("aa", "5", "0"),
        ("bb", "5", "needs review"),
        ("cc", "needs review", "5"),
        ("ee", "not in the class", "0"),
    ]
    assert gradebook.changes("\ufeff".join(texts[:1]), texts[0]) == []
    outputs._tell_changes(
        [*found, *((f"s{n}", f"{n}", "0") for n in range(20))], tmp_path / "x.csv"
    )
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "24 marks differ from the previous gradebook:" and len(said) == 22
    assert said[1:3] == ["  aa, s5: 5 -> 0", "  bb: 5 -> needs review"]
    assert said[-1] == f"  and 3 more, listed in {tmp_path}/x.csv"
    assert "s19,19,0\n" in (tmp_path / "x.csv").read_text()


def test_a_table_is_outdated_where_marks_have_changed_since(tmp_path):
    """Not after each command that does not write it again."""
    table = tmp_path / "moodle-grades.csv"
    table.touch()
    assert outputs.outdated(tmp_path) == []
    (tmp_path / "changes.csv").touch()
    for time, is_outdated in ((1, True), (1 << 33, False)):
        os.utime(table, (time, time))
        assert outputs.outdated(tmp_path) == [table] * is_outdated


def test_a_sheet_has_all_that_a_person_needs(tmp_path):
    marked = grading(report(manual=(("method", 3.0),)))
    rubrics = Questions({"method": ((2.0, "what"), (1.0, "where"))})
    found = mark(marked, {}, rubrics)
    files = {
        "Report 1.PDF": b"%PDF",
        "../x.pdf": b"%PDF",
        "given.py": b"",
        "ring.py": b"</pre><script>\nsecond line",
    }
    graded = replace(marked.report, files=(HandedInFile("ring.py", "ring.py", True, ""),))
    marking_sheets.write_sheet(tmp_path / "s1", "s1", graded, found, files)
    names = sorted(path.name for path in (tmp_path / "s1").iterdir())
    assert names[2:] == ["report.html", "sheet.html"]
    assert len(names) == 4 and all(name.endswith(".pdf") for name in names[:2])
    assert marked.report.submission not in (tmp_path / "s1" / "report.html").read_text()
    page = (tmp_path / "s1" / "sheet.html").read_text()
    assert page.index("<h2>ring.py</h2>") < page.index("<h2>given.py</h2>")  # graded first
    assert "<code>second line</code>" in page and "\\" not in page.partition("<body>")[2]
    assert "method/1" in page and "<script>" not in page
    assert page.count('role="img" aria-label="blank: points">&nbsp;</span>&nbsp;of&nbsp;') == 2
    assert page.count('aria-label="blank: comment"') == 2 and "u2003" not in page
    filled = mark(marked, {"method/1": Given(1.5, "well", "")}, rubrics)
    marking_sheets.write_sheet(tmp_path / "s1", "s1", marked.report, filled, files)
    page = (tmp_path / "s1" / "sheet.html").read_text()
    assert page.count("blank: points") == 1 and "<td>1.5&nbsp;of&nbsp;2</td><td>well</td>" in page
    marking_sheets.write_sheet(tmp_path / "s1", "s1", marked.report, filled, {})
    assert not list((tmp_path / "s1").glob("*.pdf"))  # of a hand-in that counts no more
    text = marking_sheets.to_fill([("s1", "d" * 64, found.lines)])
    # No number, whatever the digits: spreadsheets write those otherwise.
    lines = [(row["row"], row["digest"]) for row in csv.DictReader(io.StringIO(text))]
    assert lines == [("method/1", "sha256:dddddddddddd"), ("method/2", "sha256:dddddddddddd")]


def test_one_hand_in_of_a_group_is_counted_once():
    two = Roster((Student("a", {"id": "a"}, "g"), Student("b", {"id": "b"}, "g")))
    work = Work(hand_in("a"), grading())
    found, strays = standings([work], Rules(two, {"zz": {}}, Policy(), Questions(), NAMES))
    assert [each.decision.final for each in found] == [5, 5]
    assert len(reports_of(found)) == 1
    assert strays.keys == ("marks are given to zz, which is neither a student's id nor a group",)


def test_a_regrade_that_fails_takes_nobodys_mark_away():
    newest = {"one": "new 1", "two": "new 2", "three": "new 3"}
    known = {"one": "old 1", "two": "old 2"}
    found, left = falling_back(newest, known, {"one": "lost", "three": "damaged"})
    assert found == {"one": "old 1", "two": "new 2", "three": "new 3"}
    assert left == {"three": "damaged"}
    # Published as one that could not be graded: today's reason is told.
    assert falling_back({"one": "old 1"}, known, {"one": "lost"}) == (
        {"one": "old 1"},
        {"one": "lost"},
    )
