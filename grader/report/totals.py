"""Points, totals and commands, in words."""

import shlex

from grader.model.points import MARK_OF_CLASS, NOT_ALL_TESTS, written
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.safe_text import one_line, visible

_MOUNTED_SUBMISSION = "/submission"
"""Where the container sees the submission, whatever folder of the host that is."""
_FEWEST_RANKS = 2
"""Of a run with messages."""


def worst_verdict(report: Report) -> Verdict:
    """Return the verdict that speaks for the whole report."""
    verdicts = (part.verdict for part in report.parts)
    return max(verdicts, key=lambda verdict: verdict.severity, default=Verdict.ACCEPTED)


def check_again(report: Report, part: PartResult, test: TestResult | None) -> str:
    """Return the command that grades this part, or a test of it, the way it was graded."""
    is_one = test is not None and not test.is_hidden
    only = f" --only {visible(test.name.removeprefix('test_'))}" if test and is_one else ""
    return _command(report, "check" if report.mode == "local" else "run", part, only)


def look_closer(report: Report, part: PartResult, test: TestResult | None) -> str:
    """Return the command that shows the calls of a test's ranks; empty where there is nothing."""
    seen = test and test.evidence
    if report.mode != "local" or not seen or seen.num_ranks < _FEWEST_RANKS:
        return ""
    has_calls = seen.timeline.spans or seen.edges
    return _command(report, "trace", part, f" --ranks {seen.num_ranks}") if has_calls else ""


def _command(report: Report, verb: str, part: PartResult, options: str) -> str:
    if report.mode != "local" and report.submission == _MOUNTED_SUBMISSION:
        # Who mounts a folder may have the image and nothing else of ours.
        command = f'docker run --rm --network none -v "$PWD:{_MOUNTED_SUBMISSION}:ro" '
        command += f"IMAGE check {_MOUNTED_SUBMISSION}"
    else:
        course, image = (shlex.quote(visible(x)) for x in (report.course_folder, report.image))
        command = f"grade --course {course} {verb}" if report.course_folder else f"grade {verb}"
        command += f" {shlex.quote(visible(report.submission))}"
        command += f" --image {image}" if report.image else ""
    named = "" if report.is_recognised else f" --assignment {visible(report.assignment)}"
    return f"{command}{named} --part {visible(part.name)}{options}"


def points_text(points: float) -> str:
    """Return `1 point`, `2.5 points`."""
    return f"{written(points)} point{'' if points == 1 else 's'}"


def score_sentence(report: Report) -> str:
    """Return the total in words, and what it is worth."""
    return " ".join([score_text(report), *worth_texts(report)])


def score_text(report: Report) -> str:
    """Return the total in words."""
    if report.score is None:
        failed = (part.name for part in report.parts if part.verdict is Verdict.JUDGE_ERROR)
        return (
            f"No score: the grader failed on {', '.join(map(visible, failed))}. This is not your "
            "error, and no points are lost. Please send this report to your instructor."
        )
    how = " (recognised by its files)" if report.is_recognised else ""
    name = f"{visible(report.assignment)}{how}"
    if NOT_ALL_TESTS in report.notes:
        tests = [test for part in report.parts for test in part.tests]
        held = sum(test.verdict is Verdict.ACCEPTED for test in tests)
        return f"{held} of {len(tests)} checks passed in {name}, no score."
    points = f"{written(report.score)} of {points_text(report.max_score)}"
    full = ": all checks passed" if report.score == report.max_score else ""
    return f"{points} in {name}{full}."


def worth_texts(report: Report) -> list[str]:
    """Return in sentences what the total is worth, and what is still to come."""
    found = []
    if report.review:
        doubtful = [visible(part.name) for part in report.parts if part.needs_review]
        found.append(f"Your instructor reviews {', '.join(doubtful)}.")
    if report.mode == "local" and MARK_OF_CLASS not in report.notes:
        found.append("Local check, not your mark.")
    if report.pending_points:
        handed_in = dict.fromkeys(one_line(part.found) for part in report.manual_parts)
        told = f" ({'; '.join(handed_in)})" if len(handed_in) == 1 else ""
        is_or_are = "is" if report.pending_points == 1 else "are"
        pending = written(report.pending_points)
        found.append(f"{pending} more {is_or_are} graded by hand{told}.")
    return found
