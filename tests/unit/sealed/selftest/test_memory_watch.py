"""A run that is ended for its memory holds, one that keeps it does not, any other tells nothing."""

import dataclasses

import pytest

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, RunFailure, Verdict
from grader.rank import probe_modules
from grader.sealed.selftest.examine import probe_sources, watch_on_memory


def watched(outcomes=(), failure=None):
    plans = []

    def launch(plan):
        plans.append(plan)
        return LaunchResult(tuple(outcomes), failure)

    found = watch_on_memory(launch)
    (plan,) = plans
    (call,) = plan.cases
    assert call.inputs[0]["num_bytes"] > 2 * plan.limits.memory_num_bytes
    assert call.inputs[0]["num_bytes"] < plan.limits.rank_memory_num_bytes
    return found


def an_outcome():
    values = {field.name: None for field in dataclasses.fields(Outcome)}
    return Outcome(**{**values, "results": ({"kept": "1"},)})


def test_a_run_that_is_ended_holds():
    """What the watch said of it is what was found."""
    message = "the rank used 70 MiB of memory; the limit is 64 MiB"
    found = watched(failure=RunFailure(Verdict.MEMORY_LIMIT_EXCEEDED, message))
    assert (found.holds, found.is_essential, found.found) == (True, True, message)


def test_a_run_that_keeps_its_memory_is_a_reason_not_to_grade():
    found = watched(outcomes=[an_outcome()])
    assert (found.holds, found.is_essential) == (False, True)
    assert found.found == "a rank kept 192 MiB; 64 MiB are allowed"


@pytest.mark.parametrize("failure", [None, RunFailure(Verdict.RUN_TIME_ERROR, "it crashed")])
def test_a_run_that_ended_otherwise_tells_nothing(failure):
    """A check that did not come to pass is the grader's failure."""
    with pytest.raises(GraderError, match="could not run"):
        watched(failure=failure)


def test_memory_that_is_not_there_is_no_proof():
    """Nobody ended the run: the machine had nothing to give."""
    probes = probe_modules.load(probe_sources())
    with pytest.raises(RuntimeError, match="could not take"):
        probes.take_memory(None, None, num_bytes=1 << 62, longest_s=0.0)
    assert probes.take_memory(None, None, num_bytes=5, longest_s=0.0) == {"kept": "5"}
