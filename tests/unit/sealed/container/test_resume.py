"""What is kept when a container dies, what is tried again, and when there is no point in it."""

import pytest

from grader.model.errors import GraderError, UsageError
from grader.model.report import TestResult, Verdict
from grader.recording.journal import PREFIX, Finished, Journal, Step
from grader.sealed.container import resume as resuming
from grader.sealed.container.resume import MAX_CONTAINERS, ContainerDied, Record, until_reported

FIRST, SECOND, THIRD = (Step("p", "test_p", "", f"test_{name}") for name in "abc")


def finished(step):
    result = TestResult(step.test, "s", Verdict.ACCEPTED, 1, 1)
    return Finished(step, result, "", None, 1)


class Container:
    """Grades three tests; dies where it is told to."""

    def __init__(self, *deaths):
        """deaths: of each container the test it dies in, None before any, "" for no death."""
        self.record = Record()
        self.deaths = list(deaths)
        self.tried = []
        self.told = []

    def grade(self):
        resume = self.record.resume
        self.told.append(resume)
        journal = Journal(resume, lambda line: self.record.take(line.removeprefix(PREFIX)))
        death = self.deaths.pop(0) if self.deaths else ""
        if death is None:
            raise ContainerDied("killed")
        for step in (FIRST, SECOND, THIRD):
            if journal.kept({step}) or journal.why_lost(step):
                continue
            journal.started(step)
            self.tried.append(step)
            if death == step:
                raise ContainerDied("killed")
            journal.finished(finished(step))
        return "report"

    def run(self):
        return until_reported(self.record, self.grade)


def test_one_container_is_enough_when_it_lives():
    """Nothing is known before, nothing is noted after."""
    container = Container()
    assert container.run() == "report"
    assert container.tried == [FIRST, SECOND, THIRD]
    assert container.told[0].notes == ()


@pytest.mark.parametrize("step", [FIRST, SECOND, THIRD])
def test_a_death_loses_only_the_test_in_progress(step):
    """It is tried once more; what had ended is not."""
    container = Container(step)
    assert container.run() == "report"
    assert sorted(each.test for each in container.tried if each != step) == sorted(
        each.test for each in (FIRST, SECOND, THIRD) if each != step
    )
    assert container.tried.count(step) == 2
    assert "killed once (killed)" in container.told[-1].notes[0]


def test_a_test_that_kills_twice_is_lost_and_the_rest_is_graded():
    """It is not tried a third time, and it is said why."""
    container = Container(SECOND, SECOND)
    assert container.run() == "report"
    assert container.tried == [FIRST, SECOND, SECOND, THIRD]
    assert dict(container.told[-1].lost) == {
        SECOND: "the grading container was killed twice during this check (killed); "
        "look at this submission yourself"
    }
    assert container.told[-1].gave_up == ""


def test_after_three_deaths_the_last_container_only_reports():
    """What had ended is kept; all others are told why they were not graded."""
    container = Container(FIRST, FIRST, SECOND)
    assert container.run() == "report"
    assert container.tried == [FIRST, FIRST, SECOND]
    assert container.told[-1].gave_up == (
        "not graded: the grading container was killed 3 times (killed)"
    )
    assert len(container.told) == MAX_CONTAINERS


def test_there_are_never_more_than_four():
    """Whatever dies."""
    container = Container(FIRST, SECOND, THIRD, None, None)
    with pytest.raises(GraderError):
        container.run()
    assert len(container.told) == MAX_CONTAINERS


def test_a_container_that_dies_before_its_first_test_is_tried_once_more():
    """Then its own sentence is the reason."""
    container = Container(None, None)
    with pytest.raises(GraderError, match="killed"):
        container.run()
    assert len(container.told) == 2
    assert Container(None).run() == "report"


def test_dying_between_tests_twice_keeps_what_had_ended():
    """The next one only puts the report together."""
    container = Container(THIRD, None, None)
    assert container.run() == "report"
    assert container.told[-1].gave_up
    assert len(container.told[-1].finished) == 2


@pytest.mark.parametrize(
    "error", [UsageError("no part"), GraderError("refusing"), KeyboardInterrupt()]
)
def test_what_a_grader_decides_itself_is_final(error):
    """A refusal or a Ctrl-C is not a death."""
    tries = []

    def grade():
        tries.append(1)
        raise error

    with pytest.raises(type(error)):
        until_reported(Record(), grade)
    assert tries == [1]


def test_lines_of_others_are_not_kept():
    """Without the key of this grading."""
    record = Record()
    lines = []
    Journal(None, lines.append).finished(finished(FIRST))
    record.take(lines[0].removeprefix(PREFIX))
    assert record.resume.finished == ()


def test_an_engine_that_comes_back_is_waited_for(monkeypatch):
    """Only after a death: an engine that was never there is told at once."""
    monkeypatch.setattr(resuming, "_PAUSE_S", 0.001)
    tries = []

    def start():
        tries.append(1)
        if len(tries) % 3:
            raise GraderError("its daemon does not answer")
        return "started"

    record = Record()
    with pytest.raises(GraderError):
        resuming.when_engine_is_back(record, start)
    assert len(tries) == 1
    record.died(ContainerDied("gone"))
    assert resuming.when_engine_is_back(record, start) == "started"
    assert len(tries) == 3
