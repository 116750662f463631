"""Reports, hand-ins and standings to test with."""

from datetime import UTC, datetime
from pathlib import Path

from grader.addons.classroom.class_folder import Pseudonyms
from grader.addons.classroom.gradings import Grading, Outcome
from grader.addons.classroom.marking import Questions
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import HandIn, Roster
from grader.addons.classroom.standing import Rules, Work, standings
from grader.model.report import ManualPart, PartResult, Report, TestResult, Verdict, Versions

NAMES = Pseudonyms(b"key")
AT = datetime(2026, 11, 20, tzinfo=UTC)


def test_result(name="test_sum", verdict=Verdict.ACCEPTED, points=5.0, message="", **more):
    return TestResult(name, f"{name} holds.", verdict, points, 5.0, message, **more)


test_result.__test__ = False


def part(name="ring", tests=None):
    tests = tests or (test_result(),)
    worst = max((test.verdict for test in tests), key=lambda each: each.severity)
    points = sum(test.points for test in tests)
    return PartResult(name, name, worst, points, 5.0 * len(tests), "", tuple(tests))


def report(parts=None, manual=(), engine="e" * 64):
    return Report(
        assignment="sums",
        title="Sums",
        submission="/home/prof/class/anna",
        submission_digest="d" * 64,
        mode="container",
        parts=tuple(parts or (part(),)),
        manual_parts=tuple(ManualPart(name, name, points, "report.pdf") for name, points in manual),
        versions=Versions("1", engine, "course", "c" * 64, "l" * 64),
        wall_time_s=12.0,
        started_at="2026-11-20T00:00:00+00:00",
    )


def outcome(error="", exit_code=0):
    return Outcome("digest", exit_code, error, "2026-11-20T00:00:00+00:00", 12.0, (0, 1))


def grading(found=None, error="", exit_code=0):
    return Grading(outcome(error, exit_code), None if error else found or report())


def hand_in(label="anna", who=None, at=AT, **more):
    return HandIn(
        label, who or {"id": label}, Path("/in") / label, f"digest of {label}", at, **more
    )


def not_read(*hand_ins):
    return [Work(each, None, each.problem) for each in hand_ins]


def standing(found=None, *, label="anna", policy=None, roster=None, marks=None, questions=None):
    """Return where the only student stands, after one hand-in."""
    work = Work(hand_in(label), found or grading())
    rules = Rules(
        roster or Roster(), marks or {}, policy or Policy(), questions or Questions(), NAMES
    )
    (only,), _ = standings([work], rules)
    return only
