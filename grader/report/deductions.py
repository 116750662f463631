"""What was lost, where and why, in the order in which a student wants to read it."""

import shlex
from dataclasses import dataclass

from grader.model import PartResult, Report, TestResult, Verdict
from grader.points import total, written
from grader.report.safe_text import one_line, visible

_MOUNTED_SUBMISSION = "/submission"
"""Where the container sees the submission, whatever folder of the host that is."""

_WHAT_IT_MEANS = {
    Verdict.JUDGE_ERROR: "The grader failed here: it costs no points.",
    Verdict.NOT_PROVEN: "A person has to look at this; its points are withheld until then.",
}


@dataclass(frozen=True)
class Deduction:
    """One reason, and the tests that it cost."""

    verdict: Verdict
    message: str
    detail: str
    tests: tuple[TestResult, ...]
    """None when the part failed as a whole."""

    @property
    def points(self) -> float:
        """Return the points lost by it."""
        return total(number for test in self.tests for number in (test.max_points, -test.points))

    @property
    def meaning(self) -> str:
        """Return what a verdict that is not about the submission means; empty for the others."""
        return _WHAT_IT_MEANS.get(self.verdict, "")

    def told(self) -> tuple[str, list[str]]:
        """Return the message, and apart from it what each rank of a deadlock waits for."""
        return told(self.message)


def told(message: str) -> tuple[str, list[str]]:
    """Return a message in one line, and apart from it what each rank of a deadlock waits for."""
    message = one_line(message)
    before, found, chain = message.partition("deadlock: ")
    clauses = chain.split("; ")
    if not found or len(clauses) == 1:
        return message, []
    return f"{before}deadlock:", clauses


def losses(part: PartResult) -> list[Deduction]:
    """Return why a part lost points, the worst first; the same reason is told once."""
    by_reason: dict[tuple[Verdict, str], list[TestResult]] = {}
    for test in part.tests:
        if test.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED):
            by_reason.setdefault((test.verdict, test.message), []).append(test)
    found = [
        Deduction(
            verdict, message, next((test.detail for test in tests if test.detail), ""), tuple(tests)
        )
        for (verdict, message), tests in by_reason.items()
    ]
    found.sort(key=lambda loss: (loss.verdict.severity, loss.points), reverse=True)
    told = any(test.message == part.message for test in part.tests)
    if part.message and not told and part.verdict is not Verdict.ACCEPTED:
        return [Deduction(part.verdict, part.message, "", ()), *found]
    return found


def not_run(part: PartResult) -> list[Deduction]:
    """Return why tests of a part were skipped: one entry for each reason."""
    by_reason: dict[str, list[TestResult]] = {}
    for test in part.tests:
        if test.verdict is Verdict.SKIPPED:
            by_reason.setdefault(test.message, []).append(test)
    return [
        Deduction(Verdict.SKIPPED, message, "", tuple(tests))
        for message, tests in by_reason.items()
    ]


def passed(part: PartResult) -> list[TestResult]:
    """Return the tests of a part that hold."""
    return [test for test in part.tests if test.verdict is Verdict.ACCEPTED]


def worst_verdict(report: Report) -> Verdict:
    """Return the verdict that speaks for the whole report."""
    verdicts = (part.verdict for part in report.parts)
    return max(verdicts, key=lambda verdict: verdict.severity, default=Verdict.ACCEPTED)


def named(report: Report, verdict: Verdict) -> str:
    """Return the names of the parts with this verdict, as text."""
    return ", ".join(visible(part.name) for part in report.parts if part.verdict is verdict)


def command_again(report: Report, part: PartResult) -> str:
    """Return the command that grades this part alone, the way it was graded."""
    is_mount = report.mode != "local" and report.submission == _MOUNTED_SUBMISSION
    if is_mount:
        # Who mounts a folder may have the image and nothing else of ours.
        command = f'docker run --rm --network none -v "$PWD:{_MOUNTED_SUBMISSION}:ro" '
        command += f"IMAGE check {_MOUNTED_SUBMISSION}"
    else:
        mode = "check" if report.mode == "local" else "run"
        course = shlex.quote(visible(report.course_folder))
        command = f"grade --course {course} {mode}" if report.course_folder else f"grade {mode}"
        command += f" {shlex.quote(visible(report.submission))}"
        command += f" --image {shlex.quote(visible(report.image))}" if report.image else ""
    named = "" if report.is_recognised else f" --assignment {visible(report.assignment)}"
    worst = next((test for loss in losses(part) for test in loss.tests), None)
    is_one = worst is not None and not worst.is_hidden
    only = f" --only {visible(worst.name.removeprefix('test_'))}" if worst and is_one else ""
    return f"{command}{named} --part {visible(part.name)}{only}"


def number_text(number: float) -> str:
    """Return points as a person writes them: `3`, `2.5`."""
    return written(number)


def points_text(points: float) -> str:
    """Return `1 point`, `2.5 points`."""
    return f"{number_text(points)} point{'' if points == 1 else 's'}"


def score_sentence(report: Report) -> str:
    """Return the total in words."""
    if report.score is None:
        text = (
            f"No score: the grader itself failed on {named(report, Verdict.JUDGE_ERROR)}. "
            "It costs no points; please pass this report on to the course."
        )
    else:
        full = ": full marks" if report.score == report.max_score else ""
        text = f"Score {number_text(report.score)} of {number_text(report.max_score)}{full}."
    if report.review:
        doubtful = [visible(part.name) for part in report.parts if part.needs_review]
        text += f" A person has to look at {', '.join(doubtful)}."
    if report.pending_points:
        text += f" Pending: {points_text(report.pending_points)}, which a person gives."
    return text
