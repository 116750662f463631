"""The plans of a `run` of a test: of launches with the submission, and of yardsticks without it."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.course.data import Data
from grader.grading_plugin.asked_probes import asked_probes
from grader.grading_plugin.case import Case, is_yardstick
from grader.grading_plugin.part_context import PartContext
from grader.grading_plugin.plugin_base import Asked
from grader.model.errors import GraderError
from grader.recording.launch_plan import CaseCall, LaunchPlan, field_digests, key_of


def case_calls(
    cases: Sequence[Case],
    ranks: int,
    *,
    secret: bytes,
    assignment: str,
    part: str,
    suite: str = "",
    standalone: bool = False,
    backend: str = "",
    data: Data | None = None,
) -> tuple[CaseCall, ...]:
    """Return each case with its inputs for every rank.

    The inputs of a case depend on the secret and on the name of its launch: assignment, part, suite
    file, number of ranks, what connects them, and the labels of all its cases. Tests share
    launches, so it is not the test that counts: the inputs would depend on which tests are
    selected, and on which of them comes first. Nor does the submission: a changed comment must not
    change a mark. What is measured again, or left to MPI altogether, is another launch and gets
    other inputs.
    suite: name of the file that asks, without its suffix.
    standalone: the submission starts MPI or torch.distributed. backend: what connects the ranks.
    data: the images that inputs may be made of; the bundled digits when left out.
    Raises GraderError when two cases have one label.
    """
    labels = [case.label for case in cases]
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise GraderError(f"two cases of {part} have the label {twice!r}")
    images = data or Data()
    launch = [assignment, part, suite, ranks, standalone, backend, labels]
    return tuple(
        CaseCall(
            label=case.label,
            probe=case.probe,
            synchronous_sends=case.synchronous_sends,
            inputs=_inputs(case, ranks, images, [*launch, case.label], secret),
            expected=tuple(case.results(rank, ranks) for rank in range(ranks)),
            message_fault=case.message_fault,
            all_calls_count=case.all_calls_count,
            is_timed=case.is_timed,
        )
        for case in cases
    )


def _inputs(
    case: Case, ranks: int, data: Data, name: Sequence[Any], secret: bytes
) -> tuple[Mapping[str, Any], ...]:
    # As JSON, two names are never the same text, whatever the labels hold.
    seed = hmac.new(secret, json.dumps(name).encode(), hashlib.sha256).digest()
    inputs = tuple(case.inputs(np.random.default_rng(int.from_bytes(seed)), ranks, data))
    if len(inputs) != ranks:
        raise GraderError(f"{case.label}: number of inputs: {len(inputs)}; expected {ranks}")
    return inputs


def plan_of(context: PartContext, asked: Asked) -> LaunchPlan:
    """Return the plan with the inputs of all cases, which launches are made of.

    Raises GraderError when two cases have one label, or a yardstick lies where the ranks of the
    submission would get it.
    """
    backend = asked.backend or context.backend
    calls = case_calls(
        asked.cases,
        asked.ranks,
        secret=context.settings.secret,
        assignment=context.assignment,
        part=context.part,
        suite=asked.suite,
        standalone=asked.standalone,
        backend=backend,
        data=context.settings.data,
    )
    _assert_yardsticks_apart(context, asked)
    own_limits_s = [case.time_limit_s for case in asked.cases]
    return LaunchPlan(
        ranks=asked.ranks,
        cases=calls,
        probes=context.probes,
        backend=backend,
        standalone=asked.standalone,
        entry=context.entry,
        submission=context.submission,
        support=context.support,
        folders=context.folders,
        limits=replace(context.limits, case_s=max([context.limits.case_s, *own_limits_s])),
        windows=context.windows,
    )


def with_submission(plan: LaunchPlan, calls: Sequence[CaseCall]) -> LaunchPlan:
    """Return the plan of a launch of some of the calls, with the probes that they ask for."""
    probes = asked_probes(plan.probes, (call.probe for call in calls))
    return replace(plan, cases=tuple(calls), probes=probes)


def without_submission(plan: LaunchPlan, yardsticks: Sequence[CaseCall]) -> LaunchPlan:
    """Return the plan of a launch of yardsticks, whose ranks hold nothing of the submission."""
    compared_with = key_of(field_digests(plan))
    launched = replace(plan, submission={}, folders=(), compared_with=compared_with)
    return with_submission(launched, yardsticks)


def _assert_yardsticks_apart(context: PartContext, asked: Asked) -> None:
    theirs = {case.probe for case in asked.cases if not is_yardstick(case)}
    sent = asked_probes(context.probes, theirs)
    for case in asked.cases:
        own = asked_probes(context.probes, [case.probe])
        if is_yardstick(case) and not own.keys() - sent.keys():
            raise GraderError(
                f"the yardstick {case.probe} is in a module whose probes call the "
                "submission; move it to another module in probes/"
            )
