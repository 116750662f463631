"""Verdicts, points, causes and commands in words, the same in every format."""

import re
import shlex

from grader.model.evidence import FEWEST_RANKS, Evidence
from grader.model.finding import Finding
from grader.model.plural import counted
from grader.model.points import NOT_ALL_TESTS, points_text, written
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.causes import Cause, is_all, lost
from grader.report.safe_text import one_line, visible

VERDICT_WORDS = {
    Verdict.ACCEPTED: "passed",
    Verdict.WRONG_ANSWER: "wrong answer",
    Verdict.RULE_VIOLATION: "rule broken",
    Verdict.DEADLOCK: "deadlock",
    Verdict.RUN_TIME_ERROR: "crash",
    Verdict.TIME_LIMIT_EXCEEDED: "time limit",
    Verdict.MEMORY_LIMIT_EXCEEDED: "memory limit",
    Verdict.OUTPUT_LIMIT_EXCEEDED: "output limit",
    Verdict.NOT_ATTEMPTED: "not written",
    Verdict.SKIPPED: "not run",
    Verdict.NOT_PROVEN: "not proven",
    Verdict.JUDGE_ERROR: "grader failed",
}
NOT_HANDED_IN = "not handed in"
BY_HAND = "graded by hand"

_MOUNTED_SUBMISSION = "/submission"
"""Where the container sees the submission, whatever folder of the host that is."""


def worst_verdict(report: Report) -> Verdict:
    """Return the verdict that speaks for the whole report."""
    verdicts = (part.verdict for part in report.parts)
    return max(verdicts, key=lambda verdict: verdict.severity, default=Verdict.ACCEPTED)


def look_closer(report: Report, part: PartResult, seen: Evidence | None) -> str:
    """Return the command that shows the calls of a case's ranks; empty where there is nothing."""
    if report.mode != "local" or not seen or seen.num_ranks < FEWEST_RANKS:
        return ""
    has_calls = seen.timeline.spans or seen.edges
    return _command(report, "trace", part, f" --ranks {seen.num_ranks}") if has_calls else ""


def _command(report: Report, verb: str, part: PartResult, options: str) -> str:
    course, image = (shlex.quote(visible(x)) for x in (report.course_folder, report.image))
    is_mounted = report.mode != "local" and report.submission == _MOUNTED_SUBMISSION
    if report.is_for_owner or (is_mounted and not report.image):
        command = "grade check ."
    elif is_mounted:
        # Who mounts a folder may have the image and nothing else of ours.
        command = f'docker run --rm --network none -v "$PWD:{_MOUNTED_SUBMISSION}:ro" '
        command += f"{image} check {_MOUNTED_SUBMISSION}"
    else:
        command = f"grade --course {course} {verb}" if report.course_folder else f"grade {verb}"
        command += f" {shlex.quote(visible(report.submission))}"
        command += f" --image {image}" if report.image and report.mode != "local" else ""
    name = shlex.quote(visible(report.named or report.assignment))
    named = "" if report.is_recognised else f" --assignment {name}"
    return f"{command}{named} --part {visible(part.name)}{options}"


def score_sentence(report: Report) -> str:
    """Return the total in words, and what it is worth."""
    return " ".join([score_text(report), *worth_texts(report)])


def score_text(report: Report) -> str:
    """Return the total in words; the mark of the class where there is one."""
    if report.mark is not None:
        return f"{visible(report.mark.text[0].upper() + report.mark.text[1:])}."
    if report.score is None:
        failed = (part.name for part in report.parts if part.verdict is Verdict.JUDGE_ERROR)
        return (
            f"No score: the grader failed on {', '.join(map(visible, failed))}. This is not your "
            "fault, and no points are lost. Please send this report to your instructor."
        )
    how = " (recognised by its files)" if report.is_recognised else ""
    name = f"{visible(report.assignment)}{how}"
    if report.manual_parts and not report.parts:
        named = ", ".join(visible(part.name) for part in report.manual_parts)
        return f"No checks ran in {name}: your instructor grades {named}."
    if NOT_ALL_TESTS in report.notes:
        tests = [test for part in report.parts for test in part.tests]
        held = sum(test.verdict is Verdict.ACCEPTED for test in tests)
        return (
            f"{held} of {len(tests)} checks passed in {name}; no score, because not all checks ran."
        )
    points = f"{written(report.score)} of {points_text(report.max_score)}"
    # A part without points may fail beside full marks.
    is_full = report.score == report.max_score and all(
        part.verdict in (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED) for part in report.parts
    )
    full = ": all checks passed" if is_full else ""
    return f"{points} in {name}{full}."


def worth_texts(report: Report) -> list[str]:
    """Return in sentences what the total is worth, and what is still to come."""
    found = []
    if report.review:
        found.append(f"Your instructor reviews {', '.join(map(visible, report.doubtful))}.")
    if report.mode == "local" and report.mark is None:
        found.append("Local check, not your mark.")
    if report.pending_points:
        handed_in = dict.fromkeys(one_line(part.found) for part in report.manual_parts)
        told = f" ({'; '.join(handed_in)})" if len(handed_in) == 1 else ""
        is_or_are = "is" if report.pending_points == 1 else "are"
        points = report.pending_points
        pending = f"{written(points)} more" if report.parts else points_text(points)
        found.append(f"{pending} {is_or_are} graded by hand{told}.")
    return found


SHOWN_IN_CODE = "deadlock.waits"
"""The key of a finding that notes beside the student's lines say in fewer words."""
_RANKS = re.compile(r"(\d{1,4}) ranks?\b")
_IS_A_WORD = re.compile("(rank|ranks|the|none|no|all|each|every|it|we|our|this|only|a) ")
"""How a sentence of ours may begin; else it begins with a name, which stays as it is."""
_WORDS_BY_KEY = {"crash.syntax": "does not start"}


def words_of(cause: Cause) -> str:
    """Return the verdict in words."""
    return _WORDS_BY_KEY.get(cause.findings[0].key, VERDICT_WORDS[cause.verdict])


def price_of(report: Report, part: PartResult, cause: Cause) -> str:
    """Return `costs 20 of 25 points`, or what happens to them instead."""
    points = f"{written(cause.points)} of {points_text(part.max_points)}"
    if report.is_settled(part.name):
        return BY_HAND
    if cause.verdict is Verdict.JUDGE_ERROR:
        return "costs no points; please send this report to your instructor"
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "not scored"
    if cause.verdict is Verdict.NOT_PROVEN:
        return f"{points} on hold: your instructor reviews this part"
    return f"costs {points}"


def part_points(report: Report, part: PartResult) -> str:
    """Return `3 of 5`, or that the part is not scored, or graded by hand."""
    if report.is_settled(part.name):
        return BY_HAND
    if part.verdict is Verdict.JUDGE_ERROR or NOT_ALL_TESTS in report.notes:
        return "not scored"
    return f"{written(part.points)} of {written(part.max_points)}"


STAGE_PAID = "stage.paid"
"""The key of the note that says which stage pays; it is told beside the points."""


def stage_text(part: PartResult) -> str:
    """Return `8 points awarded: your code ...`; empty where no stage pays."""
    for note in part.notes:
        if note.key == STAGE_PAID:
            points = points_text(float(str(note.facts["points"])))
            return f"{points} awarded: your code {one_line(str(note.facts['shown']))}"
    return ""


def notes_of(part: PartResult) -> list[Finding]:
    """Return what else is said of a part."""
    return [note for note in part.further_notes if note.key != STAGE_PAID]


def check_points(test: TestResult) -> str:
    """Return `0 of 3.5`."""
    return f"{written(test.points)} of {written(test.max_points)}"


def headline(cause: Cause) -> str:
    """Return what names the cause, as a whole sentence; without the place of lines shown below."""
    first = cause.findings[0]
    text = one_line(first.text)
    lines = ((each.file, line) for each in cause.excerpts for line in each.lines)
    shown = {f"{file}:{line.line}" for file, line in lines if line.finding}
    if len(first.places) == 1 and first.places[0] in shown:
        text = re.sub(rf" at {re.escape(one_line(first.places[0]))}(?!\d)", "", text, count=1)
    if _IS_A_WORD.match(text):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."


def told_text(cause: Cause) -> str:
    """Return all sentences of a cause, which need no repeating beside a line of code."""
    return " ".join([*(one_line(each.text) for each in cause.findings), *helps_of(cause)])


def helps_of(cause: Cause) -> list[str]:
    """Return what to do, each advice once."""
    return list(dict.fromkeys(one_line(each.help) for each in cause.findings if each.help))


def seen_text(cause: Cause) -> str:
    """Return in which case it was seen; empty where that is not known."""
    case = one_line(cause.speaker.case) if cause.speaker is not None else ""
    numbers = {int(match[1]) for each in cause.tests if (match := _RANKS.match(each.case))}
    own = _RANKS.match(case)
    others = sorted(numbers - {int(own[1])} if own else ())
    noun = "rank" if others == [1] else "ranks"
    also = f"; also with {', '.join(map(str, others))} {noun}" if others else ""
    return f"Seen with {case}{also}." if case else ""


def again(report: Report, part: PartResult, cause: Cause) -> str:
    """Return the command that shows it again; empty for a hidden test, which students lack."""
    is_whole = is_all(part, cause) and NOT_ALL_TESTS not in report.notes
    test, only = cause.speaker, ""
    if test is not None and test.is_hidden:
        return ""
    if test is not None and not is_whole:
        only = f" --only {visible(test.name.removeprefix('test_'))}"
    return _command(report, "check" if report.mode == "local" else "run", part, only)


def blocked_text(cause: Cause) -> str:
    """Return how many checks could not run, and what that costs."""
    points = points_text(lost(cause.blocked))
    without = " because of this" if cause.tests else ""
    return f"{counted(len(cause.blocked), 'check')} could not run{without} ({points})."
