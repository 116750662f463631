"""What speaks for a part: the tests that cost points."""

import pytest

from grader import model, parts
from grader.courses import bundled
from grader.model import PartResult, Verdict

PART = bundled().load("vgg_ddp").parts[0]


def result(*tests: tuple[Verdict, float, str]) -> PartResult:
    """Return the part whose tests have these verdicts, points and messages."""
    graded = tuple(
        model.TestResult(
            name=f"test_{number}",
            sentence="It holds.",
            verdict=verdict,
            points=points if verdict is Verdict.ACCEPTED else 0,
            max_points=points,
            message=message,
        )
        for number, (verdict, points, message) in enumerate(tests)
    )
    return parts._part_result(PART, graded, num_launches=1, wall_time_s=1.0, problem="")


def test_what_costs_nothing_is_a_note():
    """Advice is no verdict, also where it is the worst that was found."""
    found = result((Verdict.ACCEPTED, 15, ""), (Verdict.RULE_VIOLATION, 0, "an old name"))
    assert (found.verdict, found.message, found.points) == (Verdict.ACCEPTED, "", 15)
    assert [str(each) for each in found.notes] == ["an old name"]


def test_the_worst_of_what_costs_points_speaks():
    """Whatever advice there is; a note does not repeat what a paid test says."""
    found = result(
        (Verdict.WRONG_ANSWER, 15, "a wrong sum"),
        (Verdict.DEADLOCK, 0, "a wrong sum"),
        (Verdict.SKIPPED, 0, "not run: a wrong sum"),
    )
    assert (found.verdict, found.message, found.notes) == (Verdict.WRONG_ANSWER, "a wrong sum", ())


def test_a_part_worth_nothing_is_judged_by_all_its_tests():
    """A bonus that is shown only."""
    found = result((Verdict.ACCEPTED, 0, ""), (Verdict.DEADLOCK, 0, "rank 0 waits"))
    assert (found.verdict, found.message, found.notes) == (Verdict.DEADLOCK, "rank 0 waits", ())


@pytest.mark.parametrize("points", [0, 15])
def test_a_failure_of_the_grader_is_never_advice(points):
    """Whatever the test is worth."""
    found = result((Verdict.ACCEPTED, 15, ""), (Verdict.JUDGE_ERROR, points, "no oracle"))
    assert (found.verdict, found.notes) == (Verdict.JUDGE_ERROR, ())
