"""Hidden tests: graded with the part; only their names, verdicts and points get out."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from courses_of import courses_of

from grader.addons.authoring import catalogue
from grader.grading import observing, pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.marks import Selection
from grader.intake import submission
from grader.judge.explanation.launch_result import LaunchResult, explaining
from grader.model.errors import GraderError, UsageError
from grader.model.report import Feedback, Outcome, Report, RunFailure, Verdict
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.report import json_report, markdown, terminal
from grader.report.export import junit
from grader.report.export.formats import FORMATS
from grader.report.feedback import for_student
from grader.trace.calls import Trace

CANARY = "kanarienvogel"
NUMBER = 271828.5

ASSIGNMENT = """
title = "Doubling"

[[parts]]
name = "double"
title = "Twice a number"
file = ["double.py"]
entry = "double(number)"
suite = "test_double.py"
points = 3
hidden_points = 4
backend = "mpi"
case_time_limit_s = 3

[[parts]]
name = "again"
title = "Twice a number, again"
file = ["double.py"]
entry = "double(number)"
suite = "test_again.py"
points = 1
backend = "mpi"
case_time_limit_s = 3
"""

PROBES = """
import numpy as np

def call(student, comm, number):
    with student.phase():
        return {"number": np.float64(student.function("double.py", "double")(number))}
"""

CASES = """
from dataclasses import dataclass
import pytest
from grader.grading_plugin.case import Array, Case
from grader.grading_plugin.marks import part, points

@dataclass(frozen=True)
class Number(Case):
    name: str = "one"
    number: float = 1.0
    probe: str = "call"

    @property
    def label(self):
        return self.name

    def inputs(self, random, ranks, data):
        return [{"number": self.number} for _ in range(ranks)]

    def results(self, rank, ranks):
        return {"number": Array("float64", (), finite=False)}

def assert_doubled(launch):
    for case, outcome in launch:
        for rank, found in enumerate(outcome["number"]):
            assert found == 2 * case.number, f"rank {rank}: {found}, expected {2 * case.number}"
"""

VISIBLE = """
from .cases import *
pytestmark = [part("PART"), pytest.mark.mpi]

@points(POINTS)
def test_small_numbers(run):
    \"\"\"Small numbers are doubled.\"\"\"
    assert_doubled(run(2, (Number(),)))
"""

HIDDEN = f"""
from .cases import *
pytestmark = [part("double"), pytest.mark.mpi]

@points(3)
@pytest.mark.parametrize("how", ["{CANARY} parameter"])
def test_large_numbers(run, how):
    \"\"\"The {CANARY} of large numbers.\"\"\"
    assert_doubled(run(2, (Number(name="{CANARY} label", number={NUMBER}),)))

@points(1, requires=test_large_numbers)
def test_once_more(run):
    \"\"\"The other {CANARY}.\"\"\"
    assert_doubled(run(2, (Number(name="other {CANARY}", number=-{NUMBER}),)))
"""


@pytest.fixture
def suites(tmp_path):
    """Return a folder of suites with one assignment, as the course has it."""
    folder = tmp_path / "suites" / "doubling"
    folder.mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "assignment.toml": ASSIGNMENT,
        "probes.py": PROBES,
        "cases.py": CASES,
        "test_double.py": VISIBLE.replace("PART", "double").replace("POINTS", "3"),
        "test_again.py": VISIBLE.replace("PART", "again").replace("POINTS", "1"),
        "hidden_double.py": HIDDEN,
    }.items():
        (folder / name).write_text(text)
    return folder.parent


@pytest.fixture(scope="module")
def launcher():
    """Return what puts plans to real ranks."""
    with ForkserverClient() as server:
        yield explaining(observing.observer(server))


def echo(plan):
    """Answer as a right submission would."""
    return LaunchResult(tuple(answer(plan, case, 2) for case in plan.cases), None)


def answer(plan, case, factor):
    results = tuple({"number": np.float64(factor * each["number"])} for each in case.inputs)
    return Outcome(case.label, plan.ranks, case.inputs, results, Trace(()), 0.1)


def grade(suites, source="", launch=echo, said=None, **options) -> Report:
    folder = suites.parent / "handin"
    folder.mkdir(exist_ok=True)
    (folder / "double.py").write_text(source or "def double(number): return 2 * number")
    courses = courses_of(suites)
    assignment = courses.assignment("doubling")
    settings = Settings(courses=courses, launch=launch, **options)
    if said is not None:
        settings = replace(settings, progress=said.append)
    handed_in = submission.read(folder, courses.wanted("doubling"))
    return pipeline.grade_submission(handed_in, assignment, settings)


def exported(report: Report) -> dict[str, str]:
    """Return the report as every exporter writes it, at its most talkative."""
    pages = {
        f"terminal, plain: {plain}": terminal.render(
            report, colour=not plain, width=100, plain=plain, verbose=True
        )
        for plain in (False, True)
    }
    brief = terminal.render(report, colour=False, width=60, plain=True)
    return {
        **pages,
        "terminal, brief": brief,
        "json": json_report.render(report),
        "junit": junit.render(report),
        "markdown": markdown.render(report),
    }


def assert_nothing_hidden(report: Report, said: list[str]) -> None:
    for exporter, text in {**exported(report), "progress": "\n".join(said)}.items():
        for canary in (CANARY, str(NUMBER), str(2 * NUMBER), "hidden_double.py", "cases.py"):
            assert canary not in text, (exporter, canary)


def verdicts(report: Report) -> dict[str, Verdict]:
    return {test.name: test.verdict for test in report.parts[0].tests}


def test_a_right_submission_gets_the_points_of_both(suites):
    """One list of tests, hidden ones marked and after the others; their points add up."""
    said: list[str] = []
    report = grade(suites, said=said)
    part = report.parts[0]
    assert [(test.name, test.is_hidden, test.points) for test in part.tests] == [
        ("test_small_numbers", False, 3),
        ("test_large_numbers", True, 3),
        ("test_once_more", True, 1),
    ]
    assert (part.verdict, part.points, part.max_points) == (Verdict.ACCEPTED, 7, 7)
    assert (report.score, report.max_score, report.exit_code) == (8, 8, 0)
    assert_nothing_hidden(report, said)


def test_without_the_file_a_sentence_says_what_is_missing(suites):
    """In the student's edition the visible tests have the same results."""
    complete = grade(suites)
    (suites / "doubling" / "hidden_double.py").unlink()
    report = grade(suites)
    assert (report.score, report.max_score, report.exit_code) == (4, 4, 0)
    assert "your course grades 4 further points with hidden checks" in report.notes
    assert not [note for note in complete.notes if "hidden" in note]
    visible = tuple(test for test in complete.parts[0].tests if not test.is_hidden)
    assert report.parts[0].tests == visible
    assert complete.parts[1].tests == report.parts[1].tests


IF_LARGE = "if abs(number) > 1000:"
SUBMISSIONS = {
    "wrong": (f"{IF_LARGE} return number", Verdict.WRONG_ANSWER),
    "crashing": (f"{IF_LARGE} raise ValueError(f'input {{number}}')", Verdict.RUN_TIME_ERROR),
    "leaving": (f"{IF_LARGE} os._exit(0)", Verdict.RUN_TIME_ERROR),
    "hanging": (f"{IF_LARGE} time.sleep(60)", Verdict.TIME_LIMIT_EXCEEDED),
    "waiting": (
        f"{IF_LARGE} MPI.COMM_WORLD.recv(source=1 - MPI.COMM_WORLD.rank)",
        Verdict.DEADLOCK,
    ),
    "flooding": (f"{IF_LARGE} print('x' * (20 << 20))", Verdict.OUTPUT_LIMIT_EXCEEDED),
}


@pytest.mark.parametrize("kind", SUBMISSIONS)
def test_no_report_tells_what_a_hidden_run_has_shown(suites, launcher, kind):
    """Whatever a submission prints, raises or does in it; the visible tests stay as they were."""
    line, verdict = SUBMISSIONS[kind]
    source = f"""
import os, sys, time
from mpi4py import MPI
def double(number):
    print("input", number, flush=True)
    print("input", number, file=sys.stderr, flush=True)
    {line}
    return 2 * number
"""
    said: list[str] = []
    report = grade(suites, source, launcher, said)
    part = report.parts[0]
    assert verdicts(report)["test_small_numbers"] is Verdict.ACCEPTED
    assert verdicts(report)["test_large_numbers"] is verdict
    assert verdicts(report)["test_once_more"] is Verdict.SKIPPED
    assert (part.points, part.max_points) == (3, 7)
    assert (part.verdict, part.message) == (verdict, "a hidden check failed")
    assert_nothing_hidden(report, said)
    assert CANARY in json_report.render(grade(suites, source, launcher, shows_hidden=True))


def test_what_a_hidden_run_has_shown_cannot_be_printed_in_a_visible_one(suites, launcher):
    """Every visible run of every part comes before the first hidden one."""
    kept = suites.parent / "kept"
    source = f"""
from pathlib import Path
kept = Path({str(kept)!r})
def double(number):
    print(kept.read_text() if kept.exists() else "nothing yet", flush=True)
    with kept.open("a") as file:
        file.write(str(number))
    return 0
"""
    said: list[str] = []
    report = grade(suites, source, launcher, said)
    assert {part.verdict for part in report.parts} == {Verdict.WRONG_ANSWER}
    assert str(NUMBER) in kept.read_text()
    assert_nothing_hidden(report, said)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (HIDDEN.replace("import *", f"import {CANARY}"), Verdict.JUDGE_ERROR),
        (HIDDEN.replace("assert_doubled(run", f"raise OSError('{CANARY}') #"), Verdict.JUDGE_ERROR),
        (HIDDEN.replace("assert_doubled(run", f"assert 0, '{CANARY}' #"), Verdict.WRONG_ANSWER),
        (HIDDEN.replace("assert_doubled(run", f"pytest.skip('{CANARY}') #"), Verdict.JUDGE_ERROR),
        (
            HIDDEN.replace("assert_doubled(run", f"raise NotProven('{CANARY}') #").replace(
                "import *", "import *\nfrom grader.judge.check_failures import NotProven"
            ),
            Verdict.NOT_PROVEN,
        ),
        (HIDDEN.replace("points(3)", "points(9)"), Verdict.JUDGE_ERROR),
    ],
)
def test_a_failure_of_the_hidden_tests_themselves_goes_to_the_course_only(suites, text, verdict):
    """Students see that no mark can be given; --show-hidden says why."""
    (suites / "doubling" / "hidden_double.py").write_text(text)
    said: list[str] = []
    report = grade(suites, said=said)
    assert report.parts[0].verdict is verdict
    assert_nothing_hidden(report, said)
    full = grade(suites, shows_hidden=True)
    shown = json_report.render(full)
    reason = "the suite's tests are worth 10 points, but assignment.toml says 4"
    assert CANARY in shown or reason in shown
    assert (full.score, full.max_score) == (report.score, report.max_score)
    for form in FORMATS.values():  # of a report with all of it students are told as little
        with suppress(GraderError):
            told = form.render(full)
            assert CANARY not in told and reason not in told
    assert CANARY not in terminal.render(for_student(full), colour=False, width=80, plain=True)


def test_time_and_launches_of_hidden_runs_are_not_told(suites, monkeypatch):
    """On a clock that goes 100 s a launch the report is the one without hidden tests."""
    now_s = [0.0]
    monkeypatch.setattr(pipeline.time, "monotonic", lambda: now_s[0])

    def slow(plan):
        now_s[0] += 100
        return echo(plan)

    told = []
    for _ in range(2):
        report = grade(suites, launch=slow)
        times = [(part.wall_time_s, part.num_launches) for part in report.parts]
        told.append((report.wall_time_s, times))
        (suites / "doubling" / "hidden_double.py").unlink(missing_ok=True)
    assert told[0] == told[1] == (200, [(100, 1), (100, 1)])


def test_hidden_tests_of_a_part_that_has_ended_are_not_run(suites):
    """Where a visible run has shown that there is nothing to call, no further one is started."""
    launched = []

    def refuse(plan):
        launched.append(plan)
        return LaunchResult(
            (), RunFailure(Verdict.RUN_TIME_ERROR, "no such function", is_lasting=True)
        )

    report = grade(suites, launch=refuse, parts=["double"])
    assert len(launched) == 1
    assert report.parts[0].message == "no such function"
    assert verdicts(report)["test_large_numbers"] is Verdict.SKIPPED
    assert report.parts[0].max_points == 7


def test_a_part_that_was_not_handed_in_can_still_be_worth_all_its_points(suites):
    """Its maximum is the one of everybody else."""
    folder = suites.parent / "handin"
    folder.mkdir()
    (folder / "other.py").write_text("")
    courses = courses_of(suites)
    handed_in = submission.read(folder, ["other.py"])
    settings = Settings(courses=courses, launch=echo)
    report = pipeline.grade_submission(handed_in, courses.assignment("doubling"), settings)
    assert (report.score, report.max_score) == (0, 8)
    assert report.parts[0].verdict is Verdict.NOT_ATTEMPTED


def test_hidden_tests_get_inputs_of_their_own(suites):
    """The same cases in a hidden suite are another launch: its inputs were never seen before."""
    random = CASES.replace("self.number} for", "float(random.random())} for")
    (suites / "doubling" / "cases.py").write_text(random)
    hidden = HIDDEN.replace(f'name="{CANARY} label", number={NUMBER}', "")
    (suites / "doubling" / "hidden_double.py").write_text(hidden)
    seen = []

    def watching(plan):
        seen.append((plan.cases[0].label, plan.cases[0].inputs[0]["number"]))
        return echo(plan)

    grade(suites, launch=watching, parts=["double"])
    numbers = [number for label, number in seen if label == "one"]
    assert len(numbers) == 2
    assert numbers[0] != numbers[1]


def test_only_where_there_are_hidden_tests_they_can_be_shown(suites):
    """`--show-hidden` is refused in the student's edition."""
    assert CANARY in json_report.render(grade(suites, shows_hidden=True))
    (suites / "doubling" / "hidden_double.py").unlink()
    with pytest.raises(UsageError, match="doubling has no hidden checks here"):
        grade(suites, shows_hidden=True)


def test_what_is_hidden_is_hidden_after_a_way_through_json(suites):
    """`grade run` reads what the container printed, which was redacted before."""
    report = grade(
        suites,
        launch=lambda plan: LaunchResult(tuple(answer(plan, case, 1) for case in plan.cases), None),
    )
    data = json.loads(json_report.render(report))
    hidden = [test for test in data["parts"][0]["tests"] if test["is_hidden"]]
    assert [test["detail"] + test["where"] for test in hidden] == ["", ""]
    assert json_report.parse(json.dumps(data)).parts[0].tests == report.parts[0].tests


def test_points_of_hidden_tests_are_listed_where_the_course_has_them(suites):
    def lines():
        assignment = courses_of(suites).assignment("doubling")
        return catalogue.text([assignment]) + catalogue.price_list(assignment)

    assert lines().count(", and 4 points of hidden checks\n") == 2
    assert "## double: 3 points, and 4 points of hidden checks\n" in lines()
    (suites / "doubling" / "hidden_double.py").unlink()
    assert "hidden" not in lines()


def only(suites, name, **options) -> list[tuple[str, Verdict, float, float]]:
    """Return what is reported where only this test is asked for."""
    report = grade(suites, selection=Selection(only=(name,)), **options)
    return [(each.name, each.verdict, each.points, each.max_points) for each in report.parts]


def test_a_part_without_the_test_that_is_asked_for_is_left_out(suites):
    """It is no failure of the grader that it has none."""
    file = suites / "doubling" / "test_again.py"
    file.write_text(file.read_text().replace("test_small_numbers", "test_other"))
    assert only(suites, "other") == [("again", Verdict.ACCEPTED, 1, 1)]


def test_a_hidden_test_can_be_asked_for_where_it_is_shown(suites):
    """Alone, with what it requires; otherwise nobody learns that it is there."""
    shown = {"launch": wrong, "shows_hidden": True}
    assert only(suites, "large_numbers", **shown) == [("double", Verdict.WRONG_ANSWER, 0, 3)]
    assert only(suites, "once_more", shows_hidden=True) == [("double", Verdict.ACCEPTED, 4, 4)]
    visible = [("double", Verdict.ACCEPTED, 3, 3), ("again", Verdict.ACCEPTED, 1, 1)]
    assert only(suites, "small_numbers", shows_hidden=True) == visible
    with pytest.raises(UsageError, match="is called large_numbers"):
        only(suites, "large_numbers")


def test_who_asks_for_a_test_of_no_suite_learns_where_the_names_are(suites):
    with pytest.raises(UsageError, match="called zzz; `grade list --prices doubling` names them"):
        grade(suites, parts=["double"], selection=Selection(only=("zzz",)))


def wrong(plan):
    return LaunchResult(tuple(answer(plan, case, 0.7071) for case in plan.cases), None)


def with_level(suites, key, level):
    file = suites / "doubling" / "assignment.toml"
    line = "case_time_limit_s = 3\n"
    file.write_text(file.read_text().replace(line, f'{line}{key} = "{level}"\n', 1))


@pytest.mark.parametrize("level", Feedback)
def test_a_part_says_how_much_its_students_are_told(suites, level):
    """A value that a rank has returned is in no file below its level; the full report has it."""
    with_level(suites, "feedback", level)
    full = grade(suites, launch=wrong, parts=["double"])
    assert "7071" in json_report.render(full)
    shown = {name: format.render(full) for name, format in FORMATS.items()}
    shown["terminal"] = terminal.render(
        for_student(full), colour=False, width=80, plain=True, verbose=True
    )
    told = {name for name, text in shown.items() if "7071" in text}
    # It names no line of the submission's.
    assert told == (set(shown) - {"gitlab"} if level.tells(Feedback.VALUES) else set())
    assert ("Small numbers are doubled." in shown["json"]) is level.tells(Feedback.SENTENCE)


@pytest.mark.parametrize("level", Feedback)
def test_a_part_says_how_much_is_told_of_its_hidden_tests(suites, level):
    """Verdicts alone, where it says nothing."""
    with_level(suites, "hidden_feedback", level)
    full = grade(suites, source="def double(number): return 2", launch=wrong)
    shown = json_report.render(for_student(full))
    assert (f"The {CANARY} of large numbers." in shown) is level.tells(Feedback.SENTENCE)
    assert (f"{CANARY} label" in shown) is False
    hidden = [test for test in full.parts[0].tests if test.is_hidden]
    assert {test.feedback for test in hidden} == {level}
