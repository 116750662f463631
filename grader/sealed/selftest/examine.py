"""The selftest: runs of a hostile submission, put to the ranks like any other."""

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import grader
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, Text
from grader.observe.run_control import resource_hints
from grader.recording.launch_plan import CaseCall, LaunchPlan, Limits
from grader.sealed.selftest import (
    architecture,
    foreign_mounts,
    hostile_calling,
    hostile_probe,
    surroundings,
)
from grader.sealed.selftest.between_ranks import between_ranks
from grader.sealed.selftest.findings import Remains, protections
from grader.sealed.selftest.hostile_probe import ATTEMPTS, BETWEEN_RANKS, BY_LANDLOCK, BY_PROC
from grader.sealed.selftest.memory_watch import watch_on_memory
from grader.sealed.selftest.protections import Protection
from grader.sealed.selftest.surroundings import (
    Surroundings,
    look_around,
    read_back,
    status_field,
)

_NUM_RANKS = 2
_PATIENCE_S = 120.0
"""A busy machine is slow, which is no reason not to grade on it."""
_ANSWER = Text(max_num_chars=1 << 16)
_JUDGES_FOLDER = Path("/judge")
_READ_ONLY = ("/", "/etc", "/opt", "/usr/bin", "/usr/local/bin", "/run", "/dev", "/proc", "/sys")


def examine(
    launch: Callable[[LaunchPlan], LaunchResult],
    material: Sequence[Path] = (),
    needed: Sequence[Path] = (),
) -> tuple[Protection, ...]:
    """Try everything that must be impossible; return what holds and what does not.

    launch: as a submission is launched. material: folders that it must not read.
    needed: files and folders of this grading that may be mounted.
    Raises GraderError when the run itself fails.
    """
    with _canary() as (canary, address):
        forbidden = [*material, _JUDGES_FOLDER, canary.parent, canary]
        secret = os.environ.get("GRADER_SECRET_FILE")
        values = {
            "material": [*map(str, forbidden), *([secret] if secret else [])],
            "read_only": [*_READ_ONLY, str(Path(np.__file__).parents[1])],
            "canary_address": address,
            "ours": [*map(str, [*forbidden, *_places(needed)])],
        }
        call = CaseCall(
            label="hostile",
            probe="attempt",
            synchronous_sends=False,
            inputs=(values,) * _NUM_RANKS,
            expected=({"found": _ANSWER}, {}),
        )
        launched = launch(_plan(call))
    outcome = next(iter(launched.outcomes), launched.failure)
    if not isinstance(outcome, Outcome):
        reason = f"{outcome.message} {outcome.detail}" if outcome else "it gave no answer"
        scarce = resource_hints.advice(resource_hints.own_allowance())
        reason = "; ".join(filter(None, (reason.strip(), scarce)))
        raise GraderError(f"the selftest could not run, so nothing is graded: {reason}")
    found = json.loads(outcome.results[0]["found"])
    seen, seen_by_a_rank = look_around(), read_back(found["surroundings"])
    remains = _remains(found["files"], seen, seen_by_a_rank)
    return (
        *protections(found, seen, seen_by_a_rank, remains, os.getpid()),
        *between_ranks(launch, probe_sources()),
        watch_on_memory(launch, probe_sources()),
    )


def _places(needed: Sequence[Path]) -> Iterator[Path]:
    """Yield where something may be mounted for a grading, as the documented commands do."""
    yield from (Path("/submission"), Path("/data"), Path(grader.__file__).parents[1])
    for variable in ("GRADER_SECRET_FILE", "GRADER_DATA", "GRADER_INTERPOSER"):
        if named := os.environ.get(variable):
            yield Path(named)
    # Whoever grades all of the machine has not asked for all of it to be mounted.
    yield from (each.absolute() for each in needed if each.absolute() != Path("/"))


def _plan(call: CaseCall) -> LaunchPlan:
    return LaunchPlan(
        ranks=_NUM_RANKS,
        cases=(call,),
        probes=probe_sources(),
        backend="mpi",
        standalone=False,
        entry="",
        submission={},
        support={},
        limits=Limits(case_s=_PATIENCE_S),
        guarded=False,
        confined=False,  # what holds in every world
    )


def probe_sources() -> dict[str, str]:
    """Return the source of the hostile probe, and of all attempts by their modules."""
    shared = (architecture, surroundings, foreign_mounts, hostile_calling)
    modules = (*shared, *ATTEMPTS, *BETWEEN_RANKS, *BY_LANDLOCK, *BY_PROC)
    files = [Path(str(module.__file__)) for module in modules]
    first = {"__init__": Path(hostile_probe.__file__).read_text()}
    return first | {file.stem: file.read_text() for file in files}


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


def _remains(files: list[str], seen: Surroundings, seen_by_a_rank: Surroundings) -> Remains:
    """Return what is left of the run's user and of its files."""
    if seen.pid_namespace != seen_by_a_rank.pid_namespace:
        return Remains((), (), is_ours_to_see=False)
    user = status_field(seen_by_a_rank.status, "Uid").split()[0]
    alive = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _living_user(entry) == user
    ]
    left = [file for file in files if Path(file).exists()]
    return Remains(tuple(alive), tuple(left), is_ours_to_see=True)


def _living_user(process: Path) -> str:
    """Return the real user of a process; empty for one that has ended."""
    try:
        status = (process / "status").read_text()
    except OSError:
        return ""
    # Its state is that of its first thread, which others may outlive.
    has_threads = int(status_field(status, "Threads") or 0) > 1
    has_ended = status_field(status, "State")[:1] in ("Z", "X") and not has_threads
    return "" if has_ended else status_field(status, "Uid").split()[0]
