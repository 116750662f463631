"""Rules about lateness and several hand-ins: raw and final score, and the reason of each."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from grader.classroom.policy import Attempt, Policy, days_late, decide

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
    assert found.reasons == ("4 days late, and at most 3 days are accepted",)


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
    assert best.final is None and "nobody knows which is the best" in best.reasons[0]


def test_what_came_too_late_and_has_no_mark_is_not_waited_for():
    several = [attempt(70, -60, "a"), attempt(None, 9 * 24 * 60, "b")]
    assert decide(several, LATE, ["anna"]).final == 70


def test_late_by_an_unknown_time_costs_nothing_and_is_told():
    found = decide([Attempt("a", 80, None, is_called_late=True)], LATE, ["anna"])
    assert found.final == 80 and "does not say by how much" in found.reasons[0]


@pytest.mark.parametrize(
    ("deadline", "submitted_at", "days"),
    [
        ("2026-10-24T23:59", "2026-10-25T23:30", 2),  # 24 h 31 min: the clock was put back
        ("2027-03-27T23:59", "2027-03-29T00:30", 1),  # 23 h 31 min
        ("2026-10-25T02:30", "2026-10-25T02:20", 0),
    ],
)
def test_a_day_is_24_hours_in_whatever_zone_the_times_are(deadline, submitted_at, days):
    zone = ZoneInfo("Europe/Zurich")
    due, came = (datetime.fromisoformat(at).replace(tzinfo=zone) for at in (deadline, submitted_at))
    for other in (zone, UTC):
        assert days_late(came.astimezone(other), due, timedelta()) == days


def test_the_later_of_two_deadlines_is_later_on_every_clock():
    zone = ZoneInfo("Europe/Zurich")
    due = datetime(2026, 10, 25, 2, 50, tzinfo=zone)
    extended = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=zone)
    assert Policy(due, extensions={"anna": extended}).deadline_of(["anna"]) is extended


def test_which_is_the_last_is_not_guessed_by_names():
    """Two of a group have handed in, and the platform says no times."""
    two = [Attempt("a", 80, None), Attempt("b", 10, None)]
    for attempts in (two, two[::-1], [two[0], attempt(10, label="b")]):
        found = decide(attempts, Policy(), ["anna"])
        assert found.final is None and "nobody says which is the last" in found.problem
    assert decide(two, Policy(takes_best=True), ["anna"]).final == 80


@pytest.mark.parametrize(("called", "is_untimed"), [(None, True), (True, True), (False, False)])
def test_what_has_no_time_is_counted_where_there_is_a_deadline(called, is_untimed):
    """Else a deadline would be without effect, and nobody would know."""
    assert decide([Attempt("a", 80, None, called)], LATE, []).is_untimed == is_untimed
    assert not decide([Attempt("a", 80, None, called)], Policy(), []).is_untimed


def test_nothing_handed_in_is_zero():
    assert decide([], LATE, ["anna"]).final == 0
