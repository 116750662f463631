"""The plans of a `run` of a test: of launches with the submission, and of yardsticks without it."""

import ast
import functools
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.course.data import Data
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
        raise GraderError(f"{case.label}: inputs for {len(inputs)} ranks instead of {ranks}")
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
        limits=context.limits,
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
                f"the yardstick {case.probe} is in a module of the probes that call the "
                "submission; give it another module in probes/"
            )


_PACKAGE = "__init__"


def asked_probes(sources: Mapping[str, str], probes: Iterable[str]) -> dict[str, str]:
    """Return the modules that define these probes, and all that they import of each other.

    sources: the text of each module by its name. Where `__init__` only imports a probe, another one
    is sent that imports what is asked and nothing else. Sources that Python cannot read are all
    returned: a rank says what is wrong with them.
    """
    names = sorted(set(probes))
    try:
        places = {as_: (module, name) for module, name, as_ in _imports(sources.get(_PACKAGE, ""))}
        left = [places.get(name, (_PACKAGE, ""))[0] for name in names]
        asked: dict[str, str] = {}
        while left:
            module = left.pop()
            if module in sources and module not in asked:
                asked[module] = sources[module]
                # What is no module is a name of the package itself.
                left += [
                    each or (name if name in sources else _PACKAGE)
                    for each, name, _ in _imports(sources[module])
                ]
    except SyntaxError:
        return dict(sources)
    statements = [
        f"from .{places[name][0]} import {places[name][1]} as {name}\n"
        for name in names
        if name in places
    ]
    return {_PACKAGE: "".join(statements)} | asked


@functools.cache
def _imports(source: str) -> tuple[tuple[str, str, str], ...]:
    """Return each import of the package's own: from which module, what, and as what."""
    return tuple(
        ((node.module or "").partition(".")[0], alias.name, alias.asname or alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    )
