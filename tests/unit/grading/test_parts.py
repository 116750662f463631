"""What speaks for a part, what of it students can grade, and stages of one graded again."""

import pytest
from courses_of import courses_of

from grader.course.courses import bundled
from grader.grading import parts, pipeline
from grader.grading.settings import Settings
from grader.intake import submission
from grader.judge.explanation.launch_result import LaunchResult
from grader.model import report
from grader.model.report import Attempt, Outcome, PartResult, RunFailure, Verdict
from grader.trace.calls import Trace

PART = bundled().load("vgg_ddp").parts[0]
TOML = """
title = "Sums"
students = ["probes.py", "test_sum.py", "test_fit.py"]

[[parts]]
name = "sum"
title = "Sum"
file = ["sums.py"]
entry = "f()"
suite = "test_sum.py"
points = 3
backend = "mpi"
case_time_limit_s = 3
course_only = ["test_closed_form"]

[[parts]]
name = "fit"
title = "Fit"
file = ["fit.py"]
entry = "f()"
suite = "test_fit.py"
points = 10
backend = "mpi"
case_time_limit_s = 3
builds_on = "sum"
stand_in = { "sums.py" = "ours.py" }
"""
CASES = """
from dataclasses import dataclass
import pytest
from grader.api import Array, Case, part, points, stage

@dataclass(frozen=True)
class Number(Case):
    probe: str = "call"

    @property
    def label(self):
        return "one"

    def inputs(self, random, ranks, data):
        return [{}] * ranks

    def results(self, rank, ranks):
        return {"number": Array("float64", ())}

CASES = (Number(),)
"""
SUM = f'''{CASES}
pytestmark = [part("sum"), pytest.mark.mpi]

@points(2)
def test_sums(run):
    """sums"""
    list(run(2, CASES))

@points(1)
def test_closed_form():
    """has a closed form"""
'''
FIT = f'''{CASES}
pytestmark = [part("fit"), pytest.mark.mpi]

@points(6)
def test_fits(run):
    """fits"""
    list(run(2, CASES))

@points(4)
def test_fits_on_three(run):
    """fits on three ranks"""
    list(run(3, CASES))

@stage(8)
def test_steps_on_three(run):
    """does a step on three ranks"""
    assert run(3, CASES).attempts()

@stage(5, own="sum")
def test_steps_with_its_own(run):
    """does a step with its own sum"""
    assert run(2, CASES).attempts()

@stage(4)
def test_steps(run):
    """does a step"""
    assert run(2, CASES).attempts()
'''


def hang(plan):
    """Return what hangs for good, but on three ranks with our sum."""
    is_ours = plan.submission.get("sums.py") == b"ours"
    failure = RunFailure(
        Verdict.DEADLOCK if plan.ranks == 2 else Verdict.RUN_TIME_ERROR,
        "stuck",
        is_lasting=not is_ours,
    )
    attempt = Attempt(plan.ranks, ({},) * plan.ranks, Trace(()), failure)
    return LaunchResult((), failure, unfinished=attempt)


def answer(plan):
    """Return an answer of each case."""
    results = ({"number": 1.0},) * plan.ranks
    return LaunchResult(
        tuple(
            Outcome(case.label, plan.ranks, case.inputs, results, Trace(()), 0.1)
            for case in plan.cases
        ),
        None,
    )


@pytest.fixture
def folder(tmp_path):
    """Return the folder of an assignment as its course has it, but for the reference."""
    made = tmp_path / "suites/sums"
    made.mkdir(parents=True)
    files = {"assignment.toml": TOML, "probes.py": "", "test_sum.py": SUM, "test_fit.py": FIT}
    for name, text in {**files, "ours.py": "ours"}.items():
        (made / name).write_text(text)
    return made


def grade(folder, launch=answer, files=("sums.py", "fit.py")):
    """Return what becomes of the parts."""
    handed_in = folder.parent.parent / "handin"
    handed_in.mkdir(exist_ok=True)
    for name in files:
        (handed_in / name).write_text("import sums")
    courses = courses_of(folder.parent)
    read = submission.read(handed_in, courses.wanted("sums"))
    settings = Settings(courses=courses, launch=launch)
    return pipeline.grade_submission(read, courses.assignment("sums"), settings).parts


NOTE = "only the course grades 1 of the 3 points for sum: has a closed form"


def notes_of(part):
    """Return what is said beside the tests."""
    return [each.text for each in part.notes]


def test_a_course_without_its_references_grades_all(folder):
    """Only where what students do not get is missing, tests are left out."""
    whole = grade(folder)[0]
    assert (whole.points, whole.max_points, notes_of(whole)) == (3, 3, [])
    (folder / "ours.py").unlink()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/ours.pyc").touch()
    given = grade(folder)[0]
    assert (given.points, given.max_points, notes_of(given)) == (2, 2, [NOTE])


def test_where_nothing_was_handed_in_it_is_said_what_the_course_grades(folder):
    """Its points are not counted either."""
    (folder / "ours.py").unlink()
    missing = grade(folder, files=["fit.py"])[0]
    assert (missing.verdict, missing.max_points) == (Verdict.NOT_ATTEMPTED, 2)
    assert notes_of(missing) == [NOTE]


def test_a_file_by_another_name_is_noted_and_told_once(folder):
    """By a key: nobody has to read sentences to find it."""
    missing = grade(folder, files=["sum.py", "fit.py"])[0]
    (note,) = missing.notes
    assert note.key == "note.unused_file"
    assert note.text == "Is sum.py meant to be sums.py? If so, rename it"
    assert missing.message.endswith(note.text)
    assert missing.further_notes == ()


def test_a_suite_that_cannot_be_read_ends_its_part_alone(folder):
    """The others are graded."""
    (folder / "ours.py").unlink()
    (folder / "test_sum.py").write_text("import nothing_of_this_name")
    first, second = grade(folder)
    assert first.verdict is Verdict.JUDGE_ERROR
    assert "nothing_of_this_name" in first.message
    assert (second.verdict, second.points) == (Verdict.ACCEPTED, 10)


def test_a_part_graded_again_is_paid_by_the_stages_of_that_grading(folder):
    """Those for the student's own version are left out there; the better of both gradings counts.

    With their own sum the part ends on two ranks, where two stages hold.
    """
    fit = grade(folder, hang)[1]
    assert fit.points == 8
    said = "you get at least 8 of 10 points, because your code does a step on three ranks"
    assert said in notes_of(fit)
    assert any("graded again with our sum" in each for each in notes_of(fit))
    (folder / "test_fit.py").write_text(FIT.replace("@stage(8)", "@stage(4.5, own='sum')"))
    fit = grade(folder, hang)[1]
    said = "you get at least 5 of 10 points, because your code does a step with its own sum"
    assert (fit.points, notes_of(fit)) == (5, [said])


@pytest.mark.parametrize(
    ("fit", "step", "is_again"),
    [
        ("import sums", "", True),
        ("from step import go", "from sums import f", True),
        ("from step import go", "f = sumsum", False),
        ("f = None", "from sums import f", False),
    ],
)
def test_only_a_part_that_names_what_it_builds_on_is_graded_again(folder, fit, step, is_again):
    """Itself, or by way of a script that it names; other parts' scripts do not count."""
    handed_in = submission.of_files(
        "here", {"sums.py": b"f = None", "fit.py": fit.encode(), "step.py": step.encode()}, {}
    )
    settings = Settings(courses=courses_of(folder.parent), launch=hang)
    assignment = settings.courses.assignment("sums")
    graded = pipeline.grade_submission(handed_in, assignment, settings).parts[1]
    assert any("graded again with our sum" in each for each in notes_of(graded)) == is_again


def result(*tests: tuple[Verdict, float, str]) -> PartResult:
    """Return the part whose tests have these verdicts, points and messages."""
    graded = tuple(
        report.TestResult(
            name=f"test_{number}",
            sentence="It holds.",
            verdict=verdict,
            points=points if verdict is Verdict.ACCEPTED else 0,
            max_points=points,
            message=message,
        )
        for number, (verdict, points, message) in enumerate(tests)
    )
    return parts._part_result(PART, graded, num_launches=1, wall_time_s=1.0, problem="")


def test_what_costs_nothing_is_a_note():
    """Advice is no verdict, also where it is the worst that was found."""
    found = result((Verdict.ACCEPTED, 15, ""), (Verdict.RULE_VIOLATION, 0, "an old name"))
    assert (found.verdict, found.message, found.points) == (Verdict.ACCEPTED, "", 15)
    assert [str(each) for each in found.notes] == ["an old name"]


def test_the_worst_of_what_costs_points_speaks():
    """Whatever advice there is; a note does not repeat what a paid test says."""
    found = result(
        (Verdict.WRONG_ANSWER, 15, "a wrong sum"),
        (Verdict.DEADLOCK, 0, "a wrong sum"),
        (Verdict.SKIPPED, 0, "not run: a wrong sum"),
    )
    assert (found.verdict, found.message, found.notes) == (Verdict.WRONG_ANSWER, "a wrong sum", ())


def test_a_part_worth_nothing_is_judged_by_all_its_tests():
    """A bonus that is shown only."""
    found = result((Verdict.ACCEPTED, 0, ""), (Verdict.DEADLOCK, 0, "rank 0 waits"))
    assert (found.verdict, found.message, found.notes) == (Verdict.DEADLOCK, "rank 0 waits", ())


@pytest.mark.parametrize("points", [0, 15])
def test_a_failure_of_the_grader_is_never_advice(points):
    """Whatever the test is worth."""
    found = result((Verdict.ACCEPTED, 15, ""), (Verdict.JUDGE_ERROR, points, "no oracle"))
    assert (found.verdict, found.notes) == (Verdict.JUDGE_ERROR, ())


def test_a_part_that_a_person_marks_can_be_asked_for_by_its_name():
    """And is not told of where others are asked for."""
    handed_in = submission.of_files("here", {"my_naive_allreduce.py": b"x = 1"}, {})
    for asked, told in (("run_times", ["run_times"]), ("ring_allreduce", [])):
        settings = Settings(launch=lambda plan: None, parts=["ring_allreduce", asked])
        found = pipeline.grade_as(handed_in, "mpi_sgd", settings)
        assert [each.name for each in found.manual_parts] == told
        assert [each.name for each in found.parts] == ["ring_allreduce"]
