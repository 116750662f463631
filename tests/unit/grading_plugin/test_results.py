"""Stages: what a part is paid at least, for what its calls show, where its tests do not hold."""

from dataclasses import replace

import pytest

from grader.grading_plugin.marks import Selection, stage
from grader.grading_plugin.part_context import PartContext, SuiteSettings
from grader.grading_plugin.results import Stage, paid
from grader.grading_plugin.session import grade_suite
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import Attempt, Feedback, RunFailure, TestResult, Verdict
from grader.recording.launch_plan import Limits
from grader.trace.calls import Trace

SUITE = '''
from dataclasses import dataclass
import pytest
from grader.api import Array, Case, WrongAnswer, not_run, part, points, stage

pytestmark = [part("thing"), pytest.mark.mpi]

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

@points(2)
def test_sums(run):
    """sums"""
    assert list(run(2, CASES))

@points(6)
def test_sums_any_length(run):
    """sums any length"""
    list(run(3, CASES))

@points(4, requires=test_sums)
def test_works_in_place():
    """works in place"""

@points(3)
def test_is_short():
    """is short"""
'''
STAGES = '''
@stage(5)
def test_cheap(run):
    """calls something"""
    run(2, CASES).attempts()

@stage(9)
def test_dear(run):
    """sends its first chunk to the right"""
    for ranks in (2, 3):
        for case, attempt in run(ranks, CASES).attempts():
            if attempt.failure.verdict == "DEADLOCK" and attempt.ranks == 2:
                return
    raise WrongAnswer("nothing was sent")

@stage(4, own="other")
def test_small(run):
    """starts"""
    for case, attempt in run(2, CASES).attempts():
        pass
'''


def hang(plan):
    failure = RunFailure(Verdict.DEADLOCK, "stuck", kind="stuck", is_lasting=True)
    attempt = Attempt(plan.ranks, ({},) * plan.ranks, Trace(()), failure)
    return LaunchResult((), failure, unfinished=attempt)


def graded(tmp_path, body=STAGES, launch=hang, selection=None, **options):
    suite = tmp_path / "test_thing.py"
    suite.write_text(SUITE + body)
    context = PartContext(
        assignment="a",
        part="thing",
        entry="go()",
        backend="mpi",
        probes={},
        limits=Limits(),
        submission={},
        support={},
        launch=launch,
        settings=SuiteSettings(selection=selection or Selection()),
        **options,
    )
    return grade_suite(suite, context)


def points_of(found):
    return {each.name.removeprefix("test_"): each.points for each in found.tests}


def test_the_stage_of_most_points_that_holds_is_paid_on_the_tests_that_failed(tmp_path):
    """In proportion to what each has lost; the part has ended, and its one launch is looked at."""
    found = graded(tmp_path)
    assert points_of(found) == {
        "sums": 1.0,
        "sums_any_length": 3.0,
        "works_in_place": 2.0,
        "is_short": 3.0,
    }
    assert [each.verdict for each in found.tests] == [
        Verdict.DEADLOCK,
        Verdict.SKIPPED,
        Verdict.SKIPPED,
        Verdict.ACCEPTED,
    ]
    assert [(each.key, each.text, each.facts) for each in found.notes] == [
        (
            "stage.paid",
            "you get at least 9 of 15 points, because your code sends its first chunk to the right",
            {"points": 9.0, "shown": "sends its first chunk to the right"},
        )
    ]
    assert found.num_launches == 1
    assert all("dear" not in each.blocked_by for each in found.tests)


def test_a_stage_that_does_not_hold_takes_nothing(tmp_path):
    """The next one is asked; one that pays no more than the tests is not."""

    def crash(plan):
        ended = hang(plan)
        failure = replace(ended.failure, verdict=Verdict.RUN_TIME_ERROR)
        attempt = replace(ended.unfinished, failure=failure)
        return replace(ended, failure=failure, unfinished=attempt)

    assert sum(points_of(graded(tmp_path, launch=crash)).values()) == 5
    without = graded(tmp_path, STAGES.replace("stage(5)", "stage(3)").replace("stage(4", "stage(3"))
    assert sum(points_of(without).values()) == 9


def test_a_stage_that_has_seen_no_case_does_not_hold(tmp_path):
    """As where nothing could be started: a loop over nothing would pay for a syntax error."""
    failure = RunFailure(Verdict.RUN_TIME_ERROR, "not valid Python", is_lasting=True)
    found = graded(tmp_path, launch=lambda plan: LaunchResult((), failure))
    assert (sum(points_of(found).values()), found.notes) == (3, ())


@pytest.mark.parametrize(
    "selection",
    [
        Selection(only=("sums",)),
        Selection(ranks=2),
        Selection(fail_fast=True),
        Selection(first_with_ranks=True),
    ],
)
def test_there_are_no_stages_where_some_tests_are_left_out(tmp_path, selection):
    """What is paid then is no mark."""
    found = graded(tmp_path, selection=selection)
    assert not found.notes
    assert all(each.points in (0, each.max_points) for each in found.tests)


def test_a_stage_for_the_students_own_version_is_not_asked_of_ours(tmp_path):
    """Like a test."""
    body = STAGES.replace('"DEADLOCK"', '"OTHER"').replace("stage(5)", "stage(3.5)")
    assert sum(points_of(graded(tmp_path, body)).values()) == 4
    replaced = graded(tmp_path, body, own_part_replaced="other")
    assert sum(points_of(replaced).values()) == 3.5


CALLS = """
@stage(9)
def test_dear(run):
    '''calls something'''
    for case, attempt in run(2, CASES).attempts():
        pass
"""


def refused(verdict=Verdict.WRONG_ANSWER, doubts=()):
    """Return what launches a case whose answer is refused."""

    def launch(plan):
        failure = RunFailure(verdict, "another form")
        attempt = Attempt(plan.ranks, ({},) * plan.ranks, Trace((), doubts), failure)
        return LaunchResult((failure,), None, refused={0: attempt})

    return launch


def test_a_case_whose_answer_is_refused_shows_its_calls(tmp_path):
    """As one without any answer does."""
    assert sum(points_of(graded(tmp_path, CALLS, refused())).values()) == 9


@pytest.mark.parametrize(
    "launch",
    [
        refused(Verdict.RULE_VIOLATION),
        refused(Verdict.NOT_PROVEN),
        refused(doubts=("MPI counted none",)),
    ],
)
def test_calls_that_prove_nothing_are_not_shown(tmp_path, launch):
    """A stage that sees no other case does not hold."""
    assert sum(points_of(graded(tmp_path, CALLS, launch)).values()) == 3


def test_a_stage_pays_no_more_than_what_is_graded_here(tmp_path):
    """Where tests are left out, it is asked only if points are lost."""
    left_out = ("test_sums", "test_sums_any_length", "test_works_in_place")
    body = CALLS + "\n@points(3)\ndef test_more(run):\n    list(run(2, CASES))\n"
    found = graded(tmp_path, body, left_out=left_out)
    assert points_of(found) == {"is_short": 3, "more": 2.75}
    asked = []

    def launch(plan):
        asked.append(plan)
        return hang(plan)

    graded(tmp_path, CALLS, launch, left_out=left_out)
    assert asked == []


def test_one_point_is_paid(tmp_path):
    """In the singular."""
    _, (note,) = paid([result(4)], [Stage(1, "starts")])
    assert str(note) == "you get at least 1 of 4 points, because your code starts"


def test_a_stage_that_breaks_is_the_graders_failure(tmp_path):
    """As a test that does is: the mark would be too low, and nobody would see it."""
    found = graded(tmp_path, STAGES.replace("attempt.failure.verdict", "attempt.nothing"))
    assert found.tests[-1].verdict is Verdict.JUDGE_ERROR
    assert "AttributeError" in found.tests[-1].message
    assert sum(points_of(found).values()) == 3


def test_with_all_points_a_stage_is_not_asked(tmp_path):
    """A stage pays less than all, and nothing beside it."""
    tests, notes = paid([result(4, Verdict.ACCEPTED)], [Stage(9, "is more than there is")])
    assert (points(tests), notes) == ([4], ())


def result(max_points, verdict=Verdict.WRONG_ANSWER):
    held = max_points if verdict is Verdict.ACCEPTED else 0
    return TestResult("test_x", "x", verdict, held, max_points, feedback=Feedback.ALL)


def points(tests):
    return [each.points for each in tests]


@pytest.mark.parametrize(
    ("losses", "stage_points", "expected"),
    [
        ([6, 2, 1, 0.25], 3, [2.0, 0.75, 0.25, 0]),
        ([6, 6, 6], 4, [1.5, 1.25, 1.25]),
        ([10], 8.5, [8.5]),
        ([1, 1], 1.9, [0.95, 0.95]),
        ([0.5, 0.5, 0], 0.75, [0.25, 0.25, 0]),
        ([0.1, 0.2], 0.2, [0.05, 0.15]),
    ],
)
def test_points_are_quarters_where_those_of_the_suite_are(losses, stage_points, expected):
    """No failed test is paid in full, not even where a stage says more than there is room for."""
    tests, _ = paid([result(each) for each in losses], [Stage(stage_points, "does")])
    assert points(tests) == expected


def test_where_the_grader_failed_nothing_is_paid():
    """There is no mark."""
    tests = [result(3), replace(result(3), verdict=Verdict.JUDGE_ERROR)]
    assert points(paid(tests, [Stage(4, "does")])[0]) == [0, 0]


def test_a_stage_has_a_number_of_points():
    """As a test has."""
    with pytest.raises(ValueError, match="expected a number of points"):
        stage(-1)
