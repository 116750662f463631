"""The selftest: two runs of a hostile submission, put to a rank like any other."""

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import grader
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, RunFailure, Text, Verdict
from grader.observe.run_control import resource_hints
from grader.recording.launch_plan import CaseCall, LaunchPlan, Limits
from grader.sealed.selftest import foreign_mounts, hostile_attempts, hostile_probe
from grader.sealed.selftest.findings import protections
from grader.sealed.selftest.protections import Protection
from grader.sealed.selftest.surroundings import look_around

_PATIENCE_S = 120.0
"""A busy machine is slow, which is no reason not to grade on it."""
_JUDGES_FOLDER = Path("/judge")
_ALLOWED_NUM_BYTES, _TAKEN_NUM_BYTES = 64 << 20, 192 << 20
"""Taken in one go, and far less than a process may have by its own limit."""
_LONGEST_S = 15.0
"""How long what was taken is held; only where nobody minds does that take its time."""


def examine(
    launch: Callable[[LaunchPlan], LaunchResult],
    material: Sequence[Path] = (),
    needed: Sequence[Path] = (),
    *,
    kernel_is_tried: bool = True,
) -> tuple[Protection, ...]:
    """Try what must be impossible; return what holds and what does not.

    launch: as a submission is launched. material: folders that it must not read.
    needed: files and folders of this grading that may be mounted. kernel_is_tried: also make the
    attempts that end the same way until the machine reboots.
    Raises GraderError when a run itself fails.
    """
    attempts = hostile_attempts.names(with_kernel=kernel_is_tried)
    with _canary() as (canary, address):
        forbidden = [*material, _JUDGES_FOLDER, canary.parent, canary]
        secret = os.environ.get("GRADER_SECRET_FILE")
        values = {
            "material": [*map(str, forbidden), *([secret] if secret else [])],
            "canary_address": address,
            "attempts": attempts,
            "ours": [*map(str, [*forbidden, *_places(needed)])],
        }
        ended = _ended(launch, "attempt", values, "found", Limits(case_s=_PATIENCE_S))
    if not isinstance(ended, Outcome):
        raise _could_not_run(ended)
    found = json.loads(ended.results[0]["found"])
    seen = look_around()
    return (*protections(found, seen, os.getpid(), attempts), watch_on_memory(launch))


def watch_on_memory(launch: Callable[[LaunchPlan], LaunchResult]) -> Protection:
    """Return whether a run is ended that uses too much memory. Raises GraderError."""
    values = {"num_bytes": _TAKEN_NUM_BYTES, "longest_s": _LONGEST_S}
    limits = Limits(case_s=_PATIENCE_S, memory_num_bytes=_ALLOWED_NUM_BYTES)
    ended = _ended(launch, "take_memory", values, "kept", limits)
    name = "A run that takes too much memory is stopped"
    if isinstance(ended, Outcome):
        taken, allowed = _TAKEN_NUM_BYTES >> 20, _ALLOWED_NUM_BYTES >> 20
        found = f"a rank kept {taken} MiB; {allowed} MiB are allowed"
        return Protection(name, holds=False, found=found, is_essential=True)
    if ended is None or ended.verdict is not Verdict.MEMORY_LIMIT_EXCEEDED:
        raise _could_not_run(ended)
    return Protection(name, holds=True, found=ended.message, is_essential=True)


def _ended(
    launch: Callable[[LaunchPlan], LaunchResult],
    probe: str,
    values: Mapping[str, Any],
    answer: str,
    limits: Limits,
) -> Outcome | RunFailure | None:
    """Return what became of one rank that was to run this probe."""
    call = CaseCall(
        label=probe,
        probe=probe,
        synchronous_sends=False,
        inputs=(values,),
        expected=({answer: Text(max_num_chars=1 << 16)},),
    )
    plan = LaunchPlan(
        ranks=1,
        cases=(call,),
        probes=probe_sources(),
        # Without MPI, which would take longer to start than all else.
        backend="none",
        standalone=False,
        entry="",
        submission={},
        support={},
        limits=limits,
        guarded=False,
        confined=False,  # what holds in every world
    )
    launched = launch(plan)
    return next(iter(launched.outcomes), launched.failure)


def _could_not_run(failure: RunFailure | None) -> GraderError:
    reason = f"{failure.message} {failure.detail}" if failure else "it gave no answer"
    scarce = resource_hints.advice(resource_hints.own_allowance())
    reason = "; ".join(filter(None, (reason.strip(), scarce)))
    return GraderError(f"the selftest could not run, so nothing is graded: {reason}")


def _places(needed: Sequence[Path]) -> Iterator[Path]:
    """Yield where something may be mounted for a grading, as the documented commands do."""
    yield from (Path("/submission"), Path("/data"), Path(grader.__file__).parents[1])
    for variable in ("GRADER_SECRET_FILE", "GRADER_DATA", "GRADER_INTERPOSER"):
        if named := os.environ.get(variable):
            yield Path(named)
    # Whoever grades all of the machine has not asked for all of it to be mounted.
    yield from (each.absolute() for each in needed if each.absolute() != Path("/"))


def probe_sources() -> dict[str, str]:
    """Return the source of the hostile probe, and of all attempts by their modules."""
    modules = (foreign_mounts, hostile_attempts)
    first = {"__init__": Path(hostile_probe.__file__).read_text()}
    return first | {
        file.stem: file.read_text() for file in (Path(str(each.__file__)) for each in modules)
    }


@contextmanager
def _canary() -> Iterator[tuple[Path, int]]:
    """Make a secret; yield the file that only root may read and where it lies in our memory."""
    secret = np.frombuffer(secrets.token_bytes(32), dtype=np.uint8)
    base = _JUDGES_FOLDER if _JUDGES_FOLDER.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="canary-", dir=base) as folder:
        file = Path(folder) / "canary"
        file.touch(mode=0o600)
        file.write_bytes(secret.tobytes())
        yield file, int(secret.__array_interface__["data"][0])
