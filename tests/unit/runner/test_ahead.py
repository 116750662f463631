"""Launches are observed ahead of the judge: one at a time, in order, and never too many."""

import threading
from dataclasses import replace

import pytest

from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.observation import End, EndKind, LaunchObservation
from grader.runner.ahead import MOST_AHEAD, Ahead
from grader.trace.calls import Trace

LIMIT_S = 30
FAILED = LaunchObservation((), End(EndKind.TROUBLE, (), Trace(())))


def plan(name, *, is_timed=False):
    case = CaseCall(name, "probe", False, ({},), ({},), is_timed=is_timed)
    return LaunchPlan(1, (case,), {}, "mpi", False, "f()", {}, {})


class Ranks:
    """Observes what it is told to let through."""

    def __init__(self):
        self.begun = []
        self.results = {}
        self.threads = {}
        self.num_abandoned = 0
        self._gates = {}
        self._abandoned = threading.Event()

    def hold(self, name):
        """Have the run of a plan wait; return what lets it go on."""
        self._gates[name] = threading.Event()
        return self._gates[name]

    def observe(self, asked):
        name = asked.cases[0].label
        self.begun.append(name)
        self.threads[name] = threading.current_thread()
        gate = self._gates.get(name)
        while gate is not None and not gate.wait(0.01):
            if self._abandoned.is_set():
                self._abandoned.clear()
                raise InterruptedError
        result = self.results.get(name, LaunchObservation((), None))
        if isinstance(result, BaseException):
            raise result
        return result

    def abandon(self):
        self.num_abandoned += 1
        self._abandoned.set()


@pytest.fixture
def ranks():
    return Ranks()


@pytest.fixture
def ahead(ranks):
    made = Ahead(ranks.observe, ranks.abandon)
    yield made
    made.stop()


def wait_until(is_so):
    waiting = threading.Event()
    for _ in range(LIMIT_S * 100):
        if is_so():
            return
        waiting.wait(0.01)
    raise AssertionError("it never came to that")


def test_what_is_expected_is_observed_before_it_is_asked_for(ahead, ranks):
    plans = [plan("a"), plan("b")]
    ahead.expect(plans)
    wait_until(lambda: ranks.begun == ["a", "b"])
    for each in plans:
        assert ahead.observe(each).end is None
    assert ranks.begun == ["a", "b"]
    assert threading.main_thread() not in ranks.threads.values()


def test_what_was_left_by_earlier_launches_does_not_matter(ahead, ranks):
    """The judge's plan has another allowance, and the same cases."""
    asked = plan("a")
    ahead.expect([asked])
    ahead.observe(replace(asked, allowance=replace(asked.allowance, time_s=7.0)))
    assert ranks.begun == ["a"]


def test_no_more_are_held_than_the_judge_has_room_for(ahead, ranks):
    plans = [plan(str(number)) for number in range(MOST_AHEAD + 2)]
    ahead.expect(plans)
    wait_until(lambda: len(ranks.begun) == MOST_AHEAD)
    ahead.observe(plans[0])
    wait_until(lambda: len(ranks.begun) == MOST_AHEAD + 1)


def test_times_are_taken_while_nothing_else_runs(ahead, ranks):
    """When the judge asks for them, and after the run that had begun."""
    first, timed, last = plan("first"), plan("timed", is_timed=True), plan("last")
    release = ranks.hold("first")
    ahead.expect([first, timed, last])
    wait_until(lambda: ranks.begun == ["first"])
    threading.Timer(0.05, release.set).start()
    ahead.observe(first)
    ahead.observe(timed)
    assert ranks.threads["timed"] is threading.main_thread()
    ahead.observe(last)
    assert sorted(ranks.begun) == ["first", "last", "timed"]


def test_after_a_failure_nothing_is_observed_ahead(ahead, ranks):
    ranks.results["a"] = FAILED
    plans = [plan("a"), plan("b")]
    ahead.expect(plans)
    assert ahead.observe(plans[0]) is FAILED
    assert ranks.begun == ["a"]
    ahead.observe(plans[1])
    assert ranks.threads["b"] is threading.main_thread()


def test_an_error_is_raised_where_it_is_asked_for(ahead, ranks):
    ranks.results["a"] = ValueError("no memory")
    asked = plan("a")
    ahead.expect([asked])
    wait_until(lambda: ranks.begun == ["a"])
    with pytest.raises(ValueError, match="no memory"):
        ahead.observe(asked)


def test_a_run_that_a_skipped_test_would_have_asked_for_is_abandoned(ahead, ranks):
    skipped, other = plan("skipped"), plan("other", is_timed=True)
    asked = plan("asked")
    ranks.hold("skipped")
    ahead.expect([skipped, asked])
    wait_until(lambda: ranks.begun == ["skipped"])
    assert ahead.observe(asked).end is None
    assert ranks.num_abandoned == 1
    ahead.observe(other)
    assert ranks.begun == ["skipped", "asked", "other"]


def test_stopping_ends_the_run_that_nobody_has_asked_for(ahead, ranks):
    ranks.hold("a")
    ahead.expect([plan("a"), plan("b")])
    wait_until(lambda: ranks.begun == ["a"])
    ahead.stop()
    assert ranks.begun == ["a"]
    assert ranks.num_abandoned == 1
    ahead.observe(plan("later"))
    assert ranks.begun == ["a", "later"]


def test_what_keeps_many_calls_is_observed_anew(ahead, ranks):
    """With what the earlier launches of its part have left."""
    many = type("Case", (), {"num_calls_not_kept": (7,)})
    ranks.results["a"] = LaunchObservation((many,), None)
    asked = plan("a")
    ahead.expect([asked])
    wait_until(lambda: ranks.begun == ["a"])
    ahead.observe(asked)
    assert ranks.begun == ["a", "a"]
