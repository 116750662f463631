"""Rules about lateness and several hand-ins: raw and final score, and the reason of each."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from grader.addons.classroom.policy import Attempt, Policy, days_late, decide

DEADLINE = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
LATE = Policy(DEADLINE, grace=timedelta(minutes=10), late_per_day=0.1, last_day=3)


def attempt(score, minutes_late=-60.0, label="a"):
    return Attempt(label, score, DEADLINE + timedelta(minutes=minutes_late))


@pytest.mark.parametrize(
    ("minutes_late", "final"),
    [(-1, 80), (0, 80), (10, 80), (11, 72), (24 * 60, 72), (24 * 60 + 1, 64), (72 * 60, 56)],
)
def test_each_day_that_has_begun_costs_its_share(minutes_late, final):
    """From the deadline on, where the grace is over."""
    found = decide([attempt(80, minutes_late)], LATE, ["anna"])
    assert (found.raw, found.final) == (80, pytest.approx(final))
    assert bool(found.reasons) == (final < 80)


def test_after_the_last_day_nothing_is_accepted():
    """Which is a zero of the policy: what the tests found is kept beside it."""
    found = decide([attempt(80, 72 * 60 + 1)], LATE, ["anna"])
    assert (found.raw, found.final) == (80, 0)
    assert found.reasons == (
        "4 days late; hand-ins are accepted up to 3 days late, so this one gets 0",
    )


def test_an_extension_is_that_of_a_student_or_of_the_group():
    """The latest of them counts, and the reason says so."""
    policy = Policy(DEADLINE, late_per_day=0.5, extensions={"g1": DEADLINE + timedelta(days=2)})
    late = [attempt(80, 24 * 60)]
    assert decide(late, policy, ["anna", "g1"]).final == 80
    assert "extended to 2026-11-22" in decide(late, policy, ["anna", "g1"]).reasons[-1]
    assert decide(late, policy, ["bert", "g2"]).final == 40


def test_of_several_the_last_counts_or_the_best_after_lateness():
    several = [attempt(70, -60, "a"), attempt(80, 60, "b"), attempt(75, 5 * 24 * 60, "c")]
    last = decide(several, LATE, ["anna"])
    assert (last.label, last.final) == ("b", 72)
    assert last.reasons[0] == "the last of 3 hand-ins, 1 of them too late"
    steep = Policy(DEADLINE, late_per_day=0.2, takes_best=True)
    assert decide(several, steep, ["anna"]).label == "a"


def test_without_a_mark_there_is_no_zero():
    """Neither for the last one, nor where it could be the best."""
    assert decide([attempt(None)], LATE, ["anna"]).final is None
    assert decide([attempt(None, 24 * 60)], LATE, ["anna"]).final is None
    several = [attempt(70, -60, "a"), attempt(None, -30, "b")]
    assert decide(several, Policy(DEADLINE), ["anna"]).final is None
    best = decide(several, Policy(DEADLINE, takes_best=True), ["anna"])
    assert best.final is None and "the best hand-in is not known" in best.reasons[0]


def test_what_came_too_late_and_has_no_mark_is_not_waited_for():
    several = [attempt(70, -60, "a"), attempt(None, 9 * 24 * 60, "b")]
    assert decide(several, LATE, ["anna"]).final == 70


def test_late_by_an_unknown_time_costs_nothing_and_is_told():
    found = decide([Attempt("a", 80, None, is_called_late=True)], LATE, ["anna"])
    assert found.final == 80 and "but not by how much" in found.reasons[0]


def test_the_later_of_two_deadlines_is_later_on_every_clock():
    zone = ZoneInfo("Europe/Zurich")
    due = datetime(2026, 10, 25, 2, 50, tzinfo=zone)
    extended = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=zone)
    assert Policy(due, extensions={"anna": extended}).deadline_of(["anna"]) is extended


@pytest.mark.parametrize(("called", "is_untimed"), [(None, True), (True, False), (False, False)])
def test_what_has_no_time_is_counted_where_there_is_a_deadline(called, is_untimed):
    """Else a deadline would be without effect, and nobody would know.

    A platform that says who is late needs no time.
    """
    assert decide([Attempt("a", 80, None, called)], LATE, []).is_untimed == is_untimed
    assert not decide([Attempt("a", 80, None, called)], Policy(), []).is_untimed


def test_nothing_handed_in_is_zero():
    assert decide([], LATE, ["anna"]).final == 0


@pytest.mark.parametrize("zone", [ZoneInfo("Europe/Zurich"), UTC], ids=str)
@pytest.mark.parametrize(
    ("deadline", "submitted", "days"),
    [
        # Clocks go back on 25 October: that day has 25 hours.
        ("2026-10-24T23:59", "2026-10-25T23:30", 1),
        ("2026-10-24T23:59", "2026-10-26T00:05", 2),
        # They go forward on 29 March: that day has 23 hours.
        ("2026-03-28T23:59", "2026-03-29T23:30", 1),
        ("2026-03-28T23:59", "2026-03-30T00:05", 2),
        # Half past two comes twice: the second one is after the first.
        ("2026-10-25T02:30", "2026-10-25T02:10+01:00", 1),
        ("2026-10-25T02:30", "2026-10-25T02:10+02:00", 0),
    ],
)
def test_days_are_those_of_the_clock_whatever_zone_a_platform_writes(
    deadline, submitted, days, zone
):
    """Also where clocks are changed within them."""
    zurich = ZoneInfo("Europe/Zurich")
    due, at = datetime.fromisoformat(deadline), datetime.fromisoformat(submitted)
    at = at if at.tzinfo else at.replace(tzinfo=zurich)
    assert days_late(at.astimezone(zone), due.replace(tzinfo=zurich), timedelta()) == days


def test_without_a_time_nobody_knows_which_is_the_last():
    """Neither is guessed by its name: a person adds the time, or has the best count."""
    several = [attempt(70, -60, "a"), Attempt("b", 90, None)]
    found = decide(several, LATE, ["anna"])
    assert (found.raw, found.final) == (None, None)
    assert "2 hand-ins, but not all have a time, so the last one is unknown" in found.problem
    assert decide(several, Policy(DEADLINE, takes_best=True), ["anna"]).label == "b"
    assert decide([Attempt("b", 90, None)], LATE, ["anna"]).final == 90
