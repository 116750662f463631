"""The watch on memory: a second run, of one rank, that takes more than it is allowed."""

from collections.abc import Callable, Mapping

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, Text, Verdict
from grader.recording.launch_plan import CaseCall, LaunchPlan, Limits
from grader.sealed.selftest.protections import Protection

_ALLOWED_NUM_BYTES = 64 << 20
_TAKEN_NUM_BYTES = 192 << 20
"""In one go, and far less than a process may have by its own limit."""
_LONGEST_S = 15.0
"""How long what was taken is held; only where nobody minds does that take its time."""
_PATIENCE_S = 120.0


def watch_on_memory(
    launch: Callable[[LaunchPlan], LaunchResult], probes: Mapping[str, str]
) -> Protection:
    """Return whether a run is ended that uses more memory than it may.

    probes: the sources of the hostile submission. Raises GraderError when the run itself fails.
    """
    launched = launch(_plan(probes))
    ended = next(iter(launched.outcomes), launched.failure)
    if isinstance(ended, Outcome):
        taken, allowed = _TAKEN_NUM_BYTES >> 20, _ALLOWED_NUM_BYTES >> 20
        return _protection(holds=False, found=f"a rank kept {taken} MiB; {allowed} were allowed")
    if ended is None or ended.verdict is not Verdict.MEMORY_LIMIT_EXCEEDED:
        reason = f"{ended.message} {ended.detail}".strip() if ended else "it gave no answer"
        raise GraderError(f"the selftest of the memory could not run: {reason}")
    return _protection(holds=True, found=ended.message)


def _protection(*, holds: bool, found: str) -> Protection:
    name = "A run that takes too much memory is stopped"
    return Protection(name, holds, found, is_essential=True)


def _plan(probes: Mapping[str, str]) -> LaunchPlan:
    values = {"num_bytes": _TAKEN_NUM_BYTES, "longest_s": _LONGEST_S}
    call = CaseCall(
        label="greedy",
        probe="take_memory",
        synchronous_sends=False,
        inputs=(values,),
        expected=({"kept": Text(max_num_chars=10)},),
    )
    return LaunchPlan(
        ranks=1,
        cases=(call,),
        probes=probes,
        # Without MPI, which would take longer to start than all else.
        backend="none",
        standalone=False,
        entry="",
        submission={},
        support={},
        limits=Limits(case_s=_PATIENCE_S, memory_num_bytes=_ALLOWED_NUM_BYTES),
        guarded=False,
    )
