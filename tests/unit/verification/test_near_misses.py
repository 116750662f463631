"""Near misses change the floating-point numbers of one result and nothing else."""

from dataclasses import replace

import numpy as np

from grader.judge.explanation import LaunchResult
from grader.model import Outcome, RunFailure, Verdict
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.trace.calls import Trace
from grader.verification.near_misses import NearMiss, Recording

FAILURE = RunFailure(Verdict.DEADLOCK, "it hangs")
RESULTS = {
    "x": np.array([1.0, -2.0], dtype=np.float32),
    "y": np.ones(1),
    "n": np.array([3]),
    "zero": np.zeros(2),
    "text": "1.0",
}


def plan(ranks=1, label="a case"):
    case = CaseCall(label, "f", synchronous_sends=False, inputs=({},), expected=({},))
    return LaunchPlan(
        ranks=ranks,
        cases=(case,),
        probes={},
        backend="mpi",
        standalone=False,
        entry="f()",
        submission={},
        support={},
    )


class Ranks:
    def __init__(self):
        self.plans = []

    def launch(self, plan):
        self.plans.append(plan)
        outcome = Outcome("a case", 1, ({},), (RESULTS,), Trace(()), 0.1)
        return LaunchResult((outcome, FAILURE), None)


def test_one_result_is_too_large_and_the_rest_stays():
    outcome, failure = NearMiss(Ranks().launch, "x", 0.01).launch(plan()).outcomes
    (found,) = outcome.results
    assert found["x"].dtype == np.float32
    assert np.allclose(found["x"], [1.01, -2.02])
    assert {name: found[name] for name in RESULTS if name != "x"} == {
        name: RESULTS[name] for name in RESULTS if name != "x"
    }
    assert failure is FAILURE


def test_only_numbers_that_can_be_missed_have_names():
    """Neither whole numbers, nor zeros, of which a part is nothing."""
    recording = Recording(Ranks().launch)
    assert recording.names() == []
    recording.launch(plan())
    assert recording.names() == ["x", "y"]


def test_ranks_are_started_once_for_a_plan():
    """The oracle is asked again, the ranks are not."""
    ranks = Ranks()
    recording = Recording(ranks.launch)
    recording.launch(replace(plan(), submission={"ring.py": b""}))
    assert recording.launch(plan()) is recording.launch(plan())
    recording.launch(plan(ranks=2))
    recording.launch(plan(label="another"))
    assert len(ranks.plans) == 4
