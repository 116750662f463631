"""Probes of several modules, in ranks: what they may do, and what a submission sees of them."""

from launching import case, run, values

from grader.model.report import Outcome

PROBES = {
    "__init__": "from .calling import call\n",
    "calling": """
import numpy as np
from grader.rank.toolbox import replaced

def call(student, comm, *, number):
    function = student.function("work.py", "go")

    def meet():
        from .waiting import wait_unseen

        wait_unseen(student, comm)

    with student.phase(), replaced(student.module("helper.py"), "meet", meet):
        value = function(comm)
    return {"value": np.asarray(float(value))}
""",
    "waiting": """
import ctypes

ctypes.CDLL(None)  # which a submission may not

def wait_unseen(student, comm):
    with student.outside():
        comm.allreduce(1)
    comm.Barrier()
""",
}
"""A submission that calls `helper.meet` runs probes that are imported no sooner."""
FILES = {
    "helper.py": "def meet(): raise AssertionError('never replaced')",
    "probes.py": "number = 1",
    "calling.py": "number = 2",
    "waiting.py": "number = 4",
    "toolbox.py": "number = 8",
}
MEETS = """
import importlib, sys

def go(comm):
    import calling, helper, probes, toolbox, waiting
    helper.meet()
    helper.meet()
    for name in ("probes.calling", "probes.waiting", "grader", "grader.rank.toolbox"):
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        raise AssertionError(name + " was found")
    found = (probes, calling, waiting, toolbox)
    if any(sys.modules[each.__name__] is not each or not each.__file__ for each in found):
        raise AssertionError("not its own modules")
    return sum(each.number for each in found)
"""


def test_probes_find_each_other_and_a_submission_its_own_modules_of_their_names():
    """Twice in a row; the guard and the recorder know every module of the probes by its file."""
    launched = run(MEETS, files=FILES, probes=PROBES, cases=(case("first"), case("second")))
    assert launched.failure is None, launched.failure
    assert launched.refusals == ()
    assert values(launched, 0) == values(launched, 1) == [15.0, 15.0]
    outcome = launched.outcomes[0]
    assert isinstance(outcome, Outcome)
    for rank in outcome.trace.ranks:
        assert [call.function for call in rank.calls] == ["Barrier", "Barrier"]


def test_what_a_submission_raises_within_a_probe_is_told_without_the_probe():
    """By its own line, and its own file of the same name."""
    source = "import helper\n\ndef go(comm):\n    helper.meet()\n"
    probes = {
        **PROBES,
        "waiting": "def wait_unseen(student, comm):\n    student.module('probes.py').fail()",
    }
    files = {**FILES, "probes.py": "def fail():\n    raise ValueError('mine')"}
    failure = run(source, files=files, probes=probes).failure
    assert failure is not None
    assert "raised ValueError: mine at probes.py:2" in failure.message
    assert failure.detail.splitlines()[:4] == [
        '  File "work.py", line 4, in go',
        "    helper.meet()",
        '  File "probes.py", line 2, in fail',
        "    raise ValueError('mine')",
    ]
    assert "<probes" not in failure.detail
