"""One cause on the page: what, where, what to do, which checks it cost, and what was seen."""

from collections.abc import Sequence

from grader.evidence import Evidence as CaseEvidence
from grader.finding import Finding
from grader.model import PartResult, Report, TestResult, Verdict
from grader.points import total
from grader.report.cause_words import (
    SHOWN_IN_CODE,
    blocked_text,
    check_points,
    checks_text,
    headline,
    helps_of,
    price_of,
    seen_text,
    told_text,
    words_of,
)
from grader.report.causes import Cause, passed
from grader.report.evidence import Evidence, evidence
from grader.report.html.communication import communication
from grader.report.html.deadlock import deadlock
from grader.report.html.findings import budgets, differences, excerpts
from grader.report.html.markup import Markup, breakable, element, joined
from grader.report.html.timeline import timeline
from grader.report.safe_text import one_line
from grader.report.totals import check_again, points_text

_MOST_TRACEBACK_LINES = 40
_MOST_OUTPUT_LINES = 20
_MOST_OUTPUTS = 8
_SIGNS = {
    Verdict.ACCEPTED: ("✓", "good"),
    Verdict.SKIPPED: ("~", "doubt"),
    Verdict.NOT_ATTEMPTED: ("○", "doubt"),
    Verdict.NOT_PROVEN: ("?", "doubt"),
    Verdict.JUDGE_ERROR: ("!", "judge"),
}
_FAILED = ("✗", "bad")


def cause_section(report: Report, part: PartResult, cause: Cause, number: int) -> Markup:
    """Return the section of one cause; number: 1, 2, ... in the report."""
    name = f"cause-{number}"
    heading = element(
        "div",
        element("h2", breakable(one_line(part.name)), id=f"{name}-name"),
        verdict_text(cause.verdict, words_of(cause)),
        element("span", price_of(report, part, cause), class_="points"),
        class_="head",
    )
    _, kind = _SIGNS.get(cause.verdict, _FAILED)
    seen = cause.evidence
    return element(
        "section",
        heading,
        element("p", headline(cause), class_="message"),
        excerpts(seen, told_text(cause)) if seen is not None else None,
        *(element("p", f"Help: {helps}", class_="help") for helps in helps_of(cause)),
        *(_fact(each, is_folded=bool(seen and seen.excerpts)) for each in cause.findings[1:]),
        element("p", seen_text(cause)) if seen_text(cause) else None,
        element("ul", *map(_priced, cause.tests), class_="tests") if cause.tests else None,
        _blocked(cause) if cause.blocked else None,
        _again(report, part, cause),
        _pictures(seen, name) if seen is not None else None,
        *_printed(evidence(cause.detail)),
        id=name,
        class_=f"loss is-{kind}",
        aria_labelledby=f"{name}-name",
    )


def held_section(part: PartResult, number: int) -> Markup | None:
    """Return the checks of a part that hold, folded, with how its ranks communicated in one."""
    held = passed(part)
    if not held:
        return None
    seen = next((test.evidence for test in held if test.evidence is not None), None)
    gained = points_text(total(test.points for test in held))
    return element(
        "details",
        element("summary", f"{one_line(part.name)}: {checks_text(held)} passed ({gained})"),
        element("ul", *map(_priced, held), class_="tests"),
        _pictures(seen, f"held-{number}") if seen is not None else None,
    )


def verdict_text(verdict: Verdict, words: str) -> Markup:
    """Return sign and words of a verdict, in its colour."""
    sign, kind = _SIGNS.get(verdict, _FAILED)
    hidden = element("span", f"{sign} ", aria_hidden="true")
    return element("span", hidden, words, class_=f"verdict {kind}")


def _priced(test: TestResult) -> Markup:
    """Return what a check asks for, beside what it has paid."""
    points = element("b", f"{check_points(test)} ")
    return element("li", points, element("span", _sentence(test)))


def _sentence(test: TestResult) -> str:
    where = f" ({one_line(test.where)})" if test.where else ""
    return f"{one_line(test.sentence)}{where}"


def _pictures(seen: CaseEvidence, name: str) -> Markup:
    return joined(
        differences(seen),
        budgets(seen),
        deadlock(seen),
        communication(seen) if seen.deadlock is None else None,
        timeline(seen, name),
    )


def _printed(pieces: Sequence[Evidence]) -> list[Markup]:
    """Return traceback and outputs, folded; of long ones the ends, of many the first."""
    shown = []
    outputs = [piece for piece in pieces if piece.is_output]
    for piece in [*pieces[: len(pieces) - len(outputs)], *outputs[:_MOST_OUTPUTS]]:
        lines = piece.abridged(
            num_traceback_lines=_MOST_TRACEBACK_LINES, num_output_lines=_MOST_OUTPUT_LINES
        )
        code = element("pre", *(element("code", line) for line in lines))
        shown.append(element("details", element("summary", piece.heading), code))
    if len(outputs) > _MOST_OUTPUTS:
        left_out = len(outputs) - _MOST_OUTPUTS
        shown.append(element("p", f"{left_out} more outputs are in the JSON report"))
    return shown


def _fact(found: Finding, *, is_folded: bool) -> Markup:
    """Return what else was found; folded where the student's lines say it already."""
    text = element("p", one_line(found.text))
    if not is_folded or found.key != SHOWN_IN_CODE:
        return text
    return element("details", element("summary", "What each rank waits for"), text)


def _blocked(cause: Cause) -> Markup:
    tests = element("ul", *map(_priced, cause.blocked), class_="tests")
    return element("details", element("summary", blocked_text(cause)), tests)


def _again(report: Report, part: PartResult, cause: Cause) -> Markup:
    command = element("code", check_again(report, part, cause.speaker))
    return element("div", "See it again:", command, class_="again")
