"""Ranks that MPI connects are kept apart: a second run, in which one tries it on the other."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, Text
from grader.recording.launch_plan import CaseCall, LaunchPlan, Limits
from grader.sealed.selftest.attempted import attempted
from grader.sealed.selftest.hostile_probe import BETWEEN_RANKS, BY_LANDLOCK, BY_PROC
from grader.sealed.selftest.protections import Protection

_NUM_RANKS = 2
_PATIENCE_S = 120.0
_ANSWER = Text(max_num_chars=1 << 16)
_NO_LANDLOCK = "neither Linux 5.13 nor a profile that allows it"


def between_ranks(
    launch: Callable[[LaunchPlan], LaunchResult], probes: Mapping[str, str]
) -> Iterator[Protection]:
    """Yield whether a rank can do anything about another one but by MPI.

    probes: the sources of the hostile submission. Raises GraderError when the run itself fails.
    """
    launched = launch(_plan(probes))
    ended = next(iter(launched.outcomes), launched.failure)
    if not isinstance(ended, Outcome):
        reason = f"{ended.message} {ended.detail}".strip() if ended else "it gave no answer"
        raise GraderError(f"the selftest of separated ranks could not run: {reason}")
    found, other = (json.loads(result["found"]) for result in ended.results)
    yield from protections(found, other)


def protections(found: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Protection]:
    """Yield what follows from what both ranks have told; the first one has tried everything."""
    users, others = set(found["users"]), set(other["users"])
    groups, others_groups = set(found["groups"]), set(other["groups"])
    yield Protection(
        "Each rank that MPI connects is its own user",
        len(users) == len(others) == 1 and not users & others and not groups & others_groups,
        f"users {_listed(users)} and {_listed(others)}, "
        f"groups {_listed(groups)} and {_listed(others_groups)}",
        is_essential=True,
    )
    yield from attempted(found["attempts"], BETWEEN_RANKS)
    version = found["landlock"]
    for each in attempted(found["attempts"], BY_LANDLOCK):
        if version > 0:
            yield replace(each, found=f"{each.found}, by Landlock {version}")
        else:
            yield replace(each, holds=False, found=_NO_LANDLOCK, is_essential=False)
    # Where others' processes are in it, /proc is not ours to close: that is told by its own flag.
    for each in attempted(found["attempts"], BY_PROC):
        yield replace(each, is_essential=False)


def _listed(numbers: set[int]) -> str:
    return " ".join(map(str, sorted(numbers)))


def _plan(probes: Mapping[str, str]) -> LaunchPlan:
    call = CaseCall(
        label="neighbours",
        probe="attempt_on_the_other",
        synchronous_sends=False,
        inputs=({"shared": np.__file__},) * _NUM_RANKS,
        expected=({"found": _ANSWER},) * _NUM_RANKS,
    )
    return LaunchPlan(
        ranks=_NUM_RANKS,
        cases=(call,),
        probes=probes,
        backend="mpi",
        standalone=False,
        entry="",
        submission={},
        support={},
        limits=Limits(case_s=_PATIENCE_S),
        guarded=False,
    )
