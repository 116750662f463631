"""How a suite alters messages: controls in between, and what happens when a run ends."""

from dataclasses import dataclass

import numpy as np
import pytest

from grader.grading_plugin.case import Case
from grader.grading_plugin.fault_injection import inject_faults
from grader.grading_plugin.launch_results import RunFailed, make_launch
from grader.grading_plugin.plan import case_calls
from grader.grading_plugin.relaunch import Answers, LaunchBudget
from grader.judge.check_failures import WrongAnswer
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import MessageFault, Outcome, RunFailure, Verdict
from grader.trace.calls import Trace

RANKS = 2
MESSAGES = tuple(MessageFault(rank, number) for rank in range(RANKS) for number in range(3))
ENDED = RunFailure(Verdict.RUN_TIME_ERROR, "rank 0 raised")


@dataclass(frozen=True)
class Sum(Case):
    probe: str = "call"

    @property
    def label(self):
        return "a sum" + self.perturbation

    def inputs(self, random, ranks, data):
        return [{"number": random.random()} for _ in range(ranks)]

    def results(self, rank, ranks):
        return {}


def outcome_of(value, num_altered=1):
    inputs = tuple({"number": rank} for rank in range(RANKS))
    results = tuple({"value": np.float64(value)} for _ in range(RANKS))
    return Outcome("a sum", RANKS, inputs, results, Trace(()), 0.1, num_altered)


def check(case, outcome):
    if outcome["value"][0] != 1:
        raise WrongAnswer("not 1")


class Submission:
    """answer: for a case an outcome, a refusal, or None where the run ends."""

    def __init__(self, answer):
        self.answer = answer
        self.launches = []

    def run(self, ranks, cases):
        start = self.start
        answers = Answers(cases, cases, ranks, start, LaunchBudget(), lambda: None, start)
        return make_launch(cases, answers, ranks)

    def start(self, cases):
        self.launches.append(tuple(cases))
        outcomes = []
        for case in cases:
            answer = self.answer(case)
            if answer is None:
                return LaunchResult(tuple(outcomes), ENDED)
            outcomes.append(answer)
        return LaunchResult(tuple(outcomes), None)

    def effects(self, **how):
        return inject_faults(self.run, RANKS, Sum(), outcome_of(1), MESSAGES, check, **how)


def test_every_message_is_altered_once_and_nothing_in_between():
    """Labels differ, so the inputs do; the order is no simple one."""
    submission = Submission(lambda case: outcome_of(5 if case.message_fault else 1))
    effects = submission.effects()
    assert {effect.message for effect in effects} == set(MESSAGES)
    assert all(effect.happened and effect.influenced == {0, 1} for effect in effects)
    (cases,) = submission.launches
    assert len(cases) == len(MESSAGES) + 4
    kinds = [case.message_fault is None for case in cases]
    assert kinds not in (sorted(kinds), sorted(kinds, reverse=True))
    calls = case_calls(cases, RANKS, secret=b"s", assignment="a", part="p")
    assert [call.message_fault for call in calls] == [case.message_fault for case in cases]
    assert len({call.inputs[0]["number"] for call in calls}) == len(cases)


def test_answers_that_stay_right_are_not_influenced():
    """Such are those of decoys."""
    effects = Submission(lambda case: outcome_of(1)).effects()
    assert not any(effect.influenced for effect in effects)


def test_a_wrong_answer_without_alteration_is_the_submissions_own():
    """Nobody gains by being wrong now and then."""
    with pytest.raises(WrongAnswer):
        Submission(lambda case: outcome_of(1 if case.message_fault else 5)).effects()


@pytest.mark.parametrize("refused", [None, RunFailure(Verdict.WRONG_ANSWER, "no float64")])
def test_a_failure_without_alteration_is_the_submissions_own(refused):
    """Nobody gains by ending the run now and then."""
    with pytest.raises(RunFailed):
        Submission(lambda case: outcome_of(5) if case.message_fault else refused).effects()


def test_what_an_alteration_ends_is_taken_up_again():
    """A submission that looks at what it receives ends a run each time, up to a few times."""
    submission = Submission(lambda case: None if case.message_fault else outcome_of(1))
    effects = submission.effects()
    assert len(submission.launches) == len(effects) == 4
    assert all(each.ended and each.noticed and each.influenced == {0, 1} for each in effects)


@pytest.mark.parametrize(("used", "ends"), [((1 / 3, 2 / 3), False), ((2 / 3,), False), ((), True)])
def test_an_element_over_which_a_run_ends_does_not_speak_for_the_message(used, ends):
    """It may be an index, or of no use; the numbers beside it are used as they are."""

    def answer(case):
        if case.message_fault is None:
            return outcome_of(1)
        position = case.message_fault.position
        return None if position == 0 else outcome_of(5 if position in used else 1)

    effects = Submission(answer).effects(tries_elsewhere=True)
    assert effects
    assert all(each.noticed == ends and each.influenced == {0, 1} for each in effects)


def test_an_element_that_could_not_be_altered_excuses_nothing():
    """Though its answer may be wrong by another cause."""

    def answer(case):
        if case.message_fault is None:
            return outcome_of(1)
        return None if case.message_fault.position == 0 else outcome_of(5, num_altered=0)

    assert all(each.noticed for each in Submission(answer).effects(tries_elsewhere=True))


def test_the_rest_after_an_end_is_not_excused():
    """One refusal does not speak for the other messages."""
    submission = Submission(
        lambda case: None if case.message_fault == MESSAGES[2] else outcome_of(1)
    )
    influenced = {e.message: bool(e.influenced) for e in submission.effects()}
    assert influenced == {message: message == MESSAGES[2] for message in MESSAGES}


def test_without_messages_nothing_is_run():
    """There is nothing to learn."""
    submission = Submission(lambda case: outcome_of(1))
    assert inject_faults(submission.run, RANKS, Sum(), outcome_of(1), (), check) == []
    assert submission.launches == []
