"""Gives again what was seen of a launch, where the same plan was observed before."""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from grader.model.errors import GradingLost
from grader.recording.codec import UnreadableRecording, decode, encode
from grader.recording.launch_plan import LaunchPlan, field_digests, key_of
from grader.recording.observation import EndKind, LaunchObservation, Observer
from grader.recording.recording import RecordedLaunch

Find = Callable[[str], RecordedLaunch | None]
"""Returns the launch of a key, where there is one."""
Keep = Callable[[str, RecordedLaunch], None]

_MOST_NAMED = 3
_WHAT = {
    "cases": "cases or inputs",
    "probes": "probes of the suite",
    "submission": "files of the submission",
    "support": "files of the assignment",
    "limits": "limits",
}
"""Fields of a plan in words."""


def replaying(find: Find, known: Callable[[], Iterable[RecordedLaunch]]) -> Observer:
    """Return an observer that starts no ranks."""

    def observe(plan: LaunchPlan) -> LaunchObservation:
        fields = field_digests(plan)
        found = find(key_of(fields))
        if found is None:
            raise GradingLost(
                f"the recording does not have {label_of(plan)}: {_nearest(fields, known())}. "
                "Record again with `grade observe`, or name a sealed recording's seed with "
                "--seed-of"
            )
        try:
            return observation_of(plan, found)
        except UnreadableRecording as error:
            raise GradingLost(f"{error}; record it again with `grade observe`") from None

    return observe


def filling(find: Find, live: Observer, keep: Keep | None = None) -> Observer:
    """Return an observer that starts ranks only for plans without a recording that can be read."""

    def observe(plan: LaunchPlan) -> LaunchObservation:
        fields = field_digests(plan)
        found = find(key_of(fields))
        if found is not None:
            with contextlib.suppress(UnreadableRecording):
                observed = observation_of(plan, found)
                if _is_whole(plan, observed):
                    return observed
        observed = live(plan)
        if keep is not None and is_worth_keeping(observed) and _is_whole(plan, observed):
            keep(key_of(fields), RecordedLaunch(fields, label_of(plan), encode(observed)))
        return observed

    return observe


def is_worth_keeping(observed: LaunchObservation) -> bool:
    """Return whether it says something of the submission, and not only of a busy machine."""
    return observed.end is None or not observed.end.is_starved


def _is_whole(plan: LaunchPlan, observed: LaunchObservation) -> bool:
    """Return whether it had all the time and memory it needed, whatever launches came before."""
    is_cut = observed.end is None and len(observed.cases) < len(plan.cases)
    return not is_cut and not any(case.num_calls_not_kept for case in observed.cases)


def label_of(plan: LaunchPlan) -> str:
    """Return `the launch of 3 ranks, 'length 240' and 4 more cases`."""
    first, *others = [case.label for case in plan.cases] or [""]
    more = f" and {len(others)} more case{'s' if len(others) > 1 else ''}" if others else ""
    ranks = "1 rank" if plan.ranks == 1 else f"{plan.ranks} ranks"
    return f"the launch on {ranks} of {first!r}{more}"


def observation_of(plan: LaunchPlan, found: RecordedLaunch) -> LaunchObservation:
    """Return what was seen of a launch of this plan.

    Raises UnreadableRecording for bytes that no launch of it can have left.
    """
    observed = decode(found.observed)
    wrong = next(_inconsistencies(plan, observed), None)
    if wrong is not None:
        raise UnreadableRecording(f"the recording of {label_of(plan)} is damaged: {wrong}")
    return observed


def _inconsistencies(plan: LaunchPlan, observed: LaunchObservation) -> Iterator[str]:
    end = observed.end
    if len(observed.cases) + (end is not None) > len(plan.cases):
        yield "it has more cases than the launch had"
    nums_ranks = {len(case.ranks) for case in observed.cases}
    nums_ranks |= {len(case.num_calls_not_kept) or plan.ranks for case in observed.cases}
    nums_ranks |= {len(observed.output_tails), len(observed.refusals)}
    if end is not None:
        nums_ranks |= {len(end.ranks), len(end.trace.ranks)}
        if (end.excess is None) == (end.kind is EndKind.EXCESS):
            yield "it does not say which limit was exceeded"
        if (end.lasted is None) == (end.kind is EndKind.TIME_LIMIT):
            yield "it does not say how long it took"
        if not any(each.said for each in end.ranks) and end.kind is EndKind.TROUBLE:
            yield "no rank says what went wrong"
    if nums_ranks != {plan.ranks}:
        yield "it has a different number of ranks"
    times_s = [observed.wall_time_s, *(case.lasted.clock_s for case in observed.cases)]
    times_s += [case.lasted.run_queue_delay_s for case in observed.cases]
    if end is not None and end.lasted is not None:
        times_s += [end.lasted.clock_s, end.lasted.run_queue_delay_s, end.limit_s]
    if not all(map(math.isfinite, times_s)):
        yield "a time is not a number"


def _nearest(fields: Mapping[str, str], known: Iterable[RecordedLaunch]) -> str:
    """Return how the nearest of the launches that are known differs from one with these fields."""
    differing = (
        (sorted(name for name in fields if fields[name] != each.fields.get(name)), each)
        for each in known
    )
    names, nearest = min(differing, key=lambda pair: len(pair[0]), default=([], None))
    if nearest is None:
        return "it has no launches"
    told = ", ".join(_WHAT.get(name, name) for name in names[:_MOST_NAMED])
    return f"{nearest.label} differs in {told}"
