"""A suite whose grading was cut short: what a second judge makes of the first one's journal."""

from dataclasses import replace

import pytest

from grader.grading_plugin.part_context import PartContext, SuiteSettings
from grader.grading_plugin.session import grade_suite
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GradingLost
from grader.model.report import Attempt, RunFailure, Verdict
from grader.recording.journal import PREFIX, Finished, Journal, Resume, Step, parse
from grader.recording.launch_plan import Limits
from grader.trace.calls import Trace

SUITE = '''
import pytest
from dataclasses import dataclass
from grader.grading_plugin.case import Array, Case
from grader.grading_plugin.marks import part, points, stage

pytestmark = [part("thing"), pytest.mark.mpi]

@dataclass(frozen=True)
class Number(Case):
    probe: str = "call"
    name: str = "one"

    @property
    def label(self):
        return self.name

    def inputs(self, random, ranks, data):
        return [{}] * ranks

    def results(self, rank, ranks):
        return {"number": Array("float64", ())}

@points(1)
def test_first():
    """First."""

@points(2)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_many(ranks):
    """Many."""
    assert ranks < BAD

@points(3, requires=test_many)
def test_needs_many():
    """Needs many."""

@points(4)
def test_runs(run):
    """Runs."""
    list(run(2, (Number(),)))

@points(5)
def test_runs_more(run):
    """Runs more."""
    list(run(3, (Number(),)))
'''
NAMES = ["test_first", "test_many", "test_needs_many", "test_runs", "test_runs_more"]
STAGES = '''
@stage(10)
def test_hangs(run):
    """hangs on two ranks"""
    assert run(2, (Number(),)).attempts()

@stage(14)
def test_ends(run):
    """ends on two ranks"""
    assert not run(2, (Number(),)).attempts()
'''


def hang(plan):
    failure = RunFailure(Verdict.DEADLOCK, "stuck", "the detail", is_lasting=True)
    attempt = Attempt(plan.ranks, ({},) * plan.ranks, Trace(()), failure)
    return LaunchResult((), failure, refusals=("line 3 loads ctypes",), unfinished=attempt)


def grade(
    tmp_path, *, bad=9, resume=None, launch=hang, told=None, stages="", suite=SUITE, **options
):
    """Return what grade_suite found, and what the journal was told."""
    resume = resume or Resume()
    lines = [] if told is None else told
    file = tmp_path / "test_thing.py"
    file.write_text(suite.replace("BAD", str(bad)) + stages)
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
        settings=SuiteSettings(
            journal=Journal(
                resume, lambda line: lines.append(parse(line.removeprefix(PREFIX), resume.key))
            )
        ),
        **options,
    )
    return grade_suite(file, context), lines


def as_told(tests):
    """Return results as they were when each test ended: which others failed is known later."""
    return [replace(each, blocked_by=()) for each in tests]


def of(lines, kind):
    return [each for each in lines if isinstance(each, kind)]


def test_every_test_is_told_when_it_starts_and_when_it_has_ended(tmp_path):
    """Once a function, however many parameters it has, in their order."""
    graded, lines = grade(tmp_path)
    assert [step.test for step in of(lines, Step)] == NAMES
    assert [each.step.test for each in of(lines, Finished)] == NAMES
    assert [each.result for each in of(lines, Finished)] == as_told(graded.tests)
    assert lines[0] == Step("thing", "test_thing", "", "test_first")


@pytest.mark.parametrize("bad", [9, 2])
@pytest.mark.parametrize("num_ended", range(6))
def test_wherever_it_is_cut_the_second_judge_comes_to_the_same(tmp_path, bad, num_ended):
    """Results, what requires what, why a part has ended: all as in one go."""
    whole, lines = grade(tmp_path, bad=bad)
    finished = tuple(of(lines, Finished)[:num_ended])
    again, told = grade(tmp_path, bad=bad, resume=Resume(finished=finished))
    assert again.tests == whole.tests
    assert again.has_ended == whole.has_ended
    assert again.num_launches == whole.num_launches
    assert again.refusals == whole.refusals == ("line 3 loads ctypes",)
    assert [step.test for step in of(told, Step)] == NAMES[num_ended:]


@pytest.mark.parametrize("num_ended", [0, 4, 5, 6, 7])
def test_wherever_it_is_cut_the_stages_come_to_the_same(tmp_path, num_ended):
    """The launches of the first judge are gone: what a stage looks at is launched again."""
    whole, lines = grade(tmp_path, stages=STAGES)
    assert sum(each.points for each in whole.tests) == 10
    finished = tuple(of(lines, Finished)[:num_ended])
    again, told = grade(tmp_path, stages=STAGES, resume=Resume(finished=finished))
    assert (again.tests, again.notes) == (whole.tests, whole.notes)
    names = [*NAMES, "test_ends", "test_hangs"]
    assert [step.test for step in of(told, Step)] == names[num_ended:]


ENDED = (
    SUITE.partition("@points(1)")[0]
    + '''
CASES = tuple(Number(name=name) for name in "abc")

@points(5)
def test_goes_on(run):
    """Goes on."""
    launch = run(2, CASES)
    for name in "ab":
        assert list(launch.having(name=name).attempts())
    list(launch)

@points(4)
def test_ends(run):
    """Ends."""
    list(run(3, CASES))

@points(6)
def test_comes_too_late(run):
    """Comes too late."""
    list(run(4, CASES))

@points(5)
def test_comes_too_late_as_well(run):
    """Comes too late as well."""
    list(run(4, CASES))

@stage(14)
def test_on_four(run):
    """works on four ranks"""
    assert run(4, CASES).attempts()

@stage(13)
def test_on_five(run):
    """works on five ranks"""
    assert run(5, CASES).attempts()

@stage(12)
def test_all_on_two(run):
    """works in all cases"""
    assert len(run(2, CASES).attempts()) == 3

@stage(11)
def test_some_on_two(run):
    """works in two cases"""
    assert len(run(2, CASES).attempts()) == 2
    assert len(run(3, CASES).attempts()) == 1
'''
)


def end_on_three_ranks(plan):
    """Return what crashes in each case on two ranks, and hangs for good on more."""
    ended = hang(plan)
    if plan.ranks != 2:
        return ended
    failure = RunFailure(Verdict.RUN_TIME_ERROR, "crashed", kind="crashed")
    attempt = replace(ended.unfinished, failure=failure)
    return replace(ended, failure=failure, unfinished=attempt)


@pytest.mark.parametrize("num_ended", range(9))
def test_stages_see_no_more_and_no_less_in_a_part_that_has_ended(tmp_path, num_ended):
    """Launches that the first judge never made stay so; one that went on goes on as far."""
    options = {"suite": ENDED, "launch": end_on_three_ranks}
    whole, lines = grade(tmp_path, **options)
    assert whole.has_ended
    assert [each.facts["points"] for each in whole.notes] == [11]
    finished = of(lines, Finished)[:num_ended]
    again, told = grade(tmp_path, **options, resume=Resume(finished=tuple(finished)))
    assert (again.tests, again.notes) == (whole.tests, whole.notes)
    finished += of(told, Finished)[:1]
    again, _ = grade(tmp_path, **options, resume=Resume(finished=tuple(finished)))
    assert (again.tests, again.notes) == (whole.tests, whole.notes)


def test_a_lost_stage_is_the_graders_failure_only_where_it_could_pay(tmp_path):
    """Where a part has its points, nobody asks for it."""
    _, lines = grade(tmp_path, stages=STAGES)
    kept = Resume(finished=tuple(of(lines, Finished)[:5]), gave_up="killed 3 times")
    graded, _ = grade(tmp_path, stages=STAGES, resume=kept)
    assert [test.name for test in graded.tests] == [*NAMES, "test_ends"]
    assert (graded.tests[-1].verdict, graded.tests[-1].message) == (
        Verdict.JUDGE_ERROR,
        "killed 3 times",
    )
    cheap = STAGES.replace("stage(1", "stage(0.1")
    assert len(grade(tmp_path, stages=cheap, resume=kept)[0].tests) == len(NAMES)


def test_what_has_ended_is_not_run_again(tmp_path):
    """Nothing is launched when everything is known."""
    _, lines = grade(tmp_path)

    def launch(plan):
        raise AssertionError("launched")

    again, told = grade(tmp_path, resume=Resume(finished=tuple(of(lines, Finished))), launch=launch)
    assert [test.name for test in again.tests] == NAMES
    assert told == []


def test_a_lost_test_is_the_graders_failure_and_the_rest_goes_on(tmp_path):
    """With its points, its sentence and why; what requires it is skipped."""
    why = "the grading container was killed twice during this check"
    lost = ((Step("thing", "test_thing", "", "test_many"), why),)
    graded, _ = grade(tmp_path, resume=Resume(lost=lost))
    results = {test.name: test for test in graded.tests}
    assert results["test_first"].verdict is Verdict.ACCEPTED
    many = results["test_many"]
    assert (many.verdict, many.points, many.max_points) == (Verdict.JUDGE_ERROR, 0, 2)
    assert (many.message, many.sentence) == (why, "Many.")
    assert results["test_needs_many"].verdict is Verdict.SKIPPED


def test_giving_up_keeps_what_had_ended(tmp_path):
    """All others say why."""
    _, lines = grade(tmp_path)
    first = tuple(of(lines, Finished)[:1])
    graded, told = grade(tmp_path, resume=Resume(finished=first, gave_up="killed 3 times"))
    assert [test.verdict for test in graded.tests] == [Verdict.ACCEPTED, *[Verdict.JUDGE_ERROR] * 4]
    assert {test.message for test in graded.tests[1:]} == {"killed 3 times"}
    assert told == []


def test_a_grading_with_a_stand_in_is_another_one(tmp_path):
    """Its tests are told apart from those on the student's own version."""
    _, lines = grade(tmp_path)
    finished = tuple(of(lines, Finished))
    _, told = grade(tmp_path, resume=Resume(finished=finished), own_part_replaced="below")
    assert [step.test for step in of(told, Step)] == NAMES
    assert {step.replaced for step in of(told, Step)} == {"below"}


def test_hidden_tests_tell_the_journal_no_more_than_the_report(tmp_path):
    """Name and verdict; not why the part has ended either."""
    graded, lines = grade(tmp_path, is_hidden=True)
    finished = of(lines, Finished)
    assert [each.result for each in finished] == as_told(graded.tests)
    assert {each.ended.message + each.ended.detail for each in finished if each.ended} == {""}
    assert {each.refusals for each in finished} == {()}
    assert finished[-1].ended.verdict is Verdict.DEADLOCK
    again, _ = grade(tmp_path, is_hidden=True, resume=Resume(finished=tuple(finished[:4])))
    assert (again.tests, again.has_ended) == (graded.tests, graded.has_ended)


def test_a_test_whose_ranks_were_lost_has_no_result(tmp_path):
    """It was started and has not ended, for the next judge to take up; no other is tried."""

    def launch(plan):
        raise GradingLost("the ranks have gone")

    told = []
    with pytest.raises(GradingLost):
        grade(tmp_path, launch=launch, told=told)
    assert [step.test for step in of(told, Step)] == NAMES[:4]
    assert [each.step.test for each in of(told, Finished)] == NAMES[:3]
