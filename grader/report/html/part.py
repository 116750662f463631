"""One part on the page: verdict, why, what each test was worth, and what was seen."""

from collections.abc import Sequence

from grader.evidence import Evidence as CaseEvidence
from grader.model import PartResult, Report, TestResult, Verdict
from grader.points import total
from grader.report.deductions import (
    Deduction,
    command_again,
    losses,
    not_run,
    number_text,
    passed,
    points_text,
)
from grader.report.evidence import Evidence, evidence
from grader.report.html.communication import communication
from grader.report.html.deadlock import deadlock
from grader.report.html.findings import budgets, differences, excerpts
from grader.report.html.markup import Markup, breakable, element, joined
from grader.report.html.timeline import timeline
from grader.report.safe_text import one_line

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
_NOTHING_TO_SEE = (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED)
"""What does not have to be graded again to be understood."""


def part_section(report: Report, part: PartResult, number: int) -> Markup:
    """Return the section of one part; number: 1, 2, ... in the report."""
    name = f"part-{number}"
    heading = element(
        "div",
        element("h2", breakable(one_line(part.name)), id=f"{name}-name"),
        verdict_text(part.verdict),
        element("span", part_points(part), class_="points"),
        class_="head",
    )
    held = passed(part)
    found = losses(part)
    is_told = [loss.verdict for loss in found] == [part.verdict]
    blocks = [
        _loss(part, loss, f"{name}-{index}", is_told=is_told) for index, loss in enumerate(found, 1)
    ]
    return element(
        "section",
        heading,
        element("p", one_line(part.title), class_="faint"),
        *blocks,
        *(_not_run(loss) for loss in not_run(part)),
        _held(held) if held else None,
        *(
            _success(test, f"{name}-held-{index}", is_open=not blocks)
            for index, test in enumerate(held, 1)
            if test.evidence is not None
        ),
        *(element("p", f"Note: {one_line(note)}") for note in part.notes),
        _again(report, part) if part.verdict not in _NOTHING_TO_SEE else None,
        id=name,
        aria_labelledby=f"{name}-name",
    )


def verdict_text(verdict: Verdict, *, is_narrow: bool = False) -> Markup:
    """Return sign and word of a verdict, in its colour; is_narrow: there may be no room for it."""
    sign, kind = _SIGNS.get(verdict, _FAILED)
    hidden = element("span", f"{sign} ", aria_hidden="true")
    word = breakable(verdict.value) if is_narrow else verdict.value
    return element("span", hidden, word, class_=f"verdict {kind}")


def part_points(part: PartResult) -> str:
    """Return `3 of 5`, or that there is no mark."""
    if part.verdict is Verdict.JUDGE_ERROR:
        return "no mark"
    return f"{number_text(part.points)} of {number_text(part.max_points)}"


def _loss(part: PartResult, loss: Deduction, name: str, *, is_told: bool) -> Markup:
    """Return why points were lost; is_told: the head of the part has its verdict already."""
    _, kind = _SIGNS.get(loss.verdict, _FAILED)
    message, clauses = loss.told()
    seen = next((test.evidence for test in loss.tests if test.evidence is not None), None)
    is_marked = part.verdict is not Verdict.JUDGE_ERROR
    lost = [_priced(_lost(test, is_marked), test) for test in loss.tests]
    return element(
        "div",
        None if is_told else element("h3", verdict_text(loss.verdict)),
        element("p", message, class_="message"),
        element("ul", *(element("li", clause) for clause in clauses)) if clauses else None,
        element("p", loss.meaning) if loss.meaning else None,
        element("ul", *lost, class_="tests") if lost else None,
        _pictures(seen, name) if seen is not None else None,
        *_printed(evidence(loss.detail)),
        class_=f"loss is-{kind}",
    )


def _lost(test: TestResult, is_marked: bool) -> str:
    lost = total((test.max_points, -test.points))
    return f"{'-' if is_marked and lost else ''}{points_text(lost)}"


def _priced(points: str, test: TestResult) -> Markup:
    """Return what a test asks for, beside what it is worth."""
    return element("li", element("b", f"{points} "), element("span", _sentence(test)))


def _sentence(test: TestResult) -> str:
    where = f" ({one_line(test.where)})" if test.where else ""
    return f"{one_line(test.sentence)}{where}"


def _pictures(seen: CaseEvidence, name: str) -> Markup:
    about = f"What was seen: {one_line(seen.case)}"
    return joined(
        element("p", about, class_="faint") if seen.case else None,
        deadlock(seen),
        differences(seen),
        budgets(seen),
        excerpts(seen),
        communication(seen),
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


def _not_run(loss: Deduction) -> Markup:
    points = points_text(total(test.max_points for test in loss.tests))
    told = f"{_tests_text(loss.tests)} ({points}) {one_line(loss.message)}"
    tests = [_priced(points_text(test.max_points), test) for test in loss.tests]
    return element("details", element("summary", told), element("ul", *tests, class_="tests"))


def _held(tests: Sequence[TestResult]) -> Markup:
    gained = points_text(total(test.points for test in tests))
    verb = "holds" if len(tests) == 1 else "hold"
    rows = [_priced(f"+{points_text(test.points)}", test) for test in tests]
    return element(
        "details",
        element("summary", f"{_tests_text(tests)} {verb} ({gained})"),
        element("ul", *rows, class_="tests"),
    )


def _success(test: TestResult, name: str, *, is_open: bool) -> Markup:
    """Return what was seen of a test that holds, folded where a loss comes before it."""
    seen = test.evidence
    return element(
        "details",
        element("summary", "How your ranks communicated where a test holds"),
        _pictures(seen, name) if seen is not None else None,
        open=is_open,
    )


def _again(report: Report, part: PartResult) -> Markup:
    command = element("code", command_again(report, part))
    return element("div", "See it again:", command, class_="again")


def _tests_text(tests: Sequence[TestResult]) -> str:
    return f"{len(tests)} test{'' if len(tests) == 1 else 's'}"
