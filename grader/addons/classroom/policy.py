"""Applies the rules of a course to a mark; verdicts stay as they are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from grader.model.plural import counted

_DAY = timedelta(days=1)

LATE_UNTIMED = (
    "the platform says that the hand-in is late, but not by how much; no points were deducted"
)
"""The reason beside a mark; the command tells the instructor what to do."""


@dataclass(frozen=True)
class Policy:
    """When a hand-in is late, what that costs, and which of several counts."""

    deadline: datetime | None = None
    """None: nothing is late."""
    grace: timedelta = timedelta()
    """A hand-in that is late by no more than this counts as on time."""
    late_per_day: float = 0.0
    """The share of the score deducted for each day or part of a day, from 0 to 1."""
    last_day: int | None = None
    """How many days late a hand-in is still accepted; None: any number."""
    takes_best: bool = False
    """Of several hand-ins, the best counts; otherwise the last."""
    extensions: Mapping[str, datetime] = field(default_factory=dict)
    """Later deadlines, by the id of a student or the name of a group."""

    def deadline_of(self, keys: Sequence[str]) -> datetime | None:
        """Return the latest deadline of a student, given the id and the group."""
        known = [self.deadline, *(self.extensions.get(key) for key in keys)]
        return max(filter(None, known), key=datetime.timestamp, default=None)


@dataclass(frozen=True)
class Attempt:
    """One hand-in of a student, with what is known of its mark."""

    label: str
    score: float | None
    """Of tests and people together; None where there is no mark."""
    submitted_at: datetime | None
    is_called_late: bool | None = False
    """By the platform; None where it says nothing."""
    is_own: bool = True
    """Handed in by the student, and not by another one of the group."""
    digest: str = ""
    """Of its files; empty if unknown, and then they equal no others."""


@dataclass(frozen=True)
class Decision:
    """What counts for a student, and why."""

    label: str
    """Of the hand-in that counts; empty where none does."""
    raw: float | None
    final: float | None
    """None if there is no mark yet: the instructor must decide."""
    reasons: tuple[str, ...]
    """A sentence for each rule that was applied."""
    problem: str = ""
    """Why the rules alone cannot tell what counts; empty where they can."""
    is_untimed: bool = False
    """It counts as on time because its time is unknown."""


def decide(attempts: Sequence[Attempt], policy: Policy, keys: Sequence[str]) -> Decision:
    """Return which of a student's hand-ins counts, and for how much.

    keys: the id and the group that extensions may name. Raw and final are both kept: a deduction
    never changes a verdict.
    """
    if not attempts:
        return Decision("", None, 0.0, ("nothing was handed in",))
    deadline = policy.deadline_of(keys)
    judged = sorted((_judged(each, policy, deadline) for each in attempts), key=_time_of)
    accepted = [each for each in judged if each.is_accepted]
    if not accepted:
        attempt = judged[-1].attempt
        return Decision(attempt.label, attempt.score, 0.0, judged[-1].reasons)
    last = accepted[-1].attempt.label
    unknown = [each.attempt.label for each in accepted if each.final is None]
    if policy.takes_best and unknown and len(accepted) > 1:
        why = f"{unknown[0]} has no mark yet, so the best hand-in is not known"
        return Decision(unknown[0], None, None, (why,))
    # Some platforms deliver a group's hand-in once for each member.
    different = {each.attempt.digest or each.attempt.label for each in accepted}
    is_untimed = any(each.attempt.submitted_at is None for each in accepted)
    if not policy.takes_best and is_untimed and len(different) > 1:
        problem = (
            f"{len(accepted)} hand-ins, but not all have a time, so the last one is unknown. Add "
            "their times to the file under `times` in class.toml"
        )
        return Decision(last, None, None, (), problem)
    # If two are worth the same, the later one counts.
    best = max(reversed(accepted), key=lambda each: each.final or 0.0)
    counted = best if policy.takes_best else accepted[-1]
    attempt, reasons = counted.attempt, counted.reasons
    if len(attempts) > 1:
        which = f"the {'best' if policy.takes_best else 'last'} of {len(attempts)} hand-ins"
        too_late = len(attempts) - len(accepted)
        reasons = (f"{which}, {too_late} of them too late" if too_late else which, *reasons)
    if deadline is not None and deadline != policy.deadline:
        reasons = (*reasons, f"deadline extended to {deadline.isoformat(' ', 'minutes')}")
    is_untimed = attempt.submitted_at is None and attempt.is_called_late is None
    return Decision(
        attempt.label,
        attempt.score,
        counted.final,
        reasons,
        is_untimed=is_untimed and deadline is not None,
    )


def days_late(submitted_at: datetime, deadline: datetime, grace: timedelta) -> int:
    """Return how many days after the deadline have begun; 0 within the grace.

    A day ends when the clock shows the time of the deadline again, even if the clocks change and
    the day has 23 or 25 hours.
    """
    if submitted_at.astimezone(UTC) - deadline.astimezone(UTC) <= grace:
        return 0
    # Of two times in one zone Python subtracts what the clock shows.
    by_the_clock = submitted_at.astimezone(deadline.tzinfo) - deadline
    return max(1, math.ceil(by_the_clock / _DAY))


@dataclass(frozen=True)
class _Judged:
    """An attempt after the late rules."""

    attempt: Attempt
    final: float | None
    reasons: tuple[str, ...] = ()
    is_accepted: bool = True


def _judged(attempt: Attempt, policy: Policy, deadline: datetime | None) -> _Judged:
    if deadline is None:
        return _Judged(attempt, attempt.score)
    if attempt.submitted_at is None:
        return _Judged(attempt, attempt.score, (LATE_UNTIMED,) if attempt.is_called_late else ())
    days = days_late(attempt.submitted_at, deadline, policy.grace)
    if days == 0:
        return _Judged(attempt, attempt.score)
    late = f"{counted(days, 'day')} late"
    if policy.last_day is not None and days > policy.last_day:
        why = (
            f"{late}; hand-ins are accepted up to {counted(policy.last_day, 'day')} late, so "
            "this one gets 0"
        )
        return _Judged(attempt, None, (why,), is_accepted=False)
    share = min(1.0, days * policy.late_per_day)
    final = None if attempt.score is None else attempt.score * (1 - share)
    return _Judged(attempt, final, (f"{late}: {share:.0%} deducted",))


def _time_of(judged: _Judged) -> tuple[float, bool, str]:
    attempt, at = judged.attempt, judged.attempt.submitted_at
    return (at.timestamp() if at is not None else -math.inf, attempt.is_own, attempt.label)
