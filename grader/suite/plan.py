"""The plan of a launch: what ranks are asked to do for a `run` of a test."""

from grader.recording.launch_plan import LaunchPlan
from grader.suite.inputs import case_calls
from grader.suite.mode import Asked
from grader.suite.part_context import PartContext


def plan_of(context: PartContext, asked: Asked) -> LaunchPlan:
    """Return the plan with all inputs. Raises GraderError when two cases have one label."""
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
