"""The plans of a `run` of a test: of launches with the submission, and of yardsticks without it."""

from collections.abc import Sequence
from dataclasses import replace

from grader.grading_plugin.asked_probes import asked_probes
from grader.grading_plugin.case import is_yardstick
from grader.grading_plugin.inputs import case_calls
from grader.grading_plugin.part_context import PartContext
from grader.grading_plugin.plugin_base import Asked
from grader.model.errors import GraderError
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.plan_key import field_digests, key_of


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
