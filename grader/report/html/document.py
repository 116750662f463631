"""The page of a report: its head, an overview of the parts, each part, versions."""

from collections.abc import Sequence

from grader.model import ManualPart, PartResult, Report
from grader.report.cause_words import part_points
from grader.report.causes import dearest_first, is_missing
from grader.report.html.cause import cause_section, held_section, verdict_text
from grader.report.html.circle import tips
from grader.report.html.markup import Child, Markup, breakable, element, joined, table
from grader.report.html.whole import whole
from grader.report.safe_text import one_line
from grader.report.totals import number_text, score_text, worth_texts
from grader.report.words import NOT_HANDED_IN, VERDICT_WORDS


def render(report: Report, *, is_in_frame: bool = False) -> str:
    """Return the report as one HTML page that loads nothing and runs nothing.

    is_in_frame: it is to be the `srcdoc` of a frame, not a file.
    """
    found = [each for each in dearest_first(report) if not is_missing(each[0])]
    sections = [
        *(cause_section(report, part, cause, n) for n, (part, cause) in enumerate(found, 1)),
        _overview(report, [part for part, _ in found]),
        *(held_section(part, n) for n, part in enumerate(report.parts, 1)),
        *_manual(report.manual_parts),
    ]
    main = element("main", *sections, id="main")
    title = f"{one_line(report.assignment)}: {one_line(report.submission)}"
    body = (_skip(), tips(), _header(report), main, _footer(report))
    return whole(title, *body, is_in_frame=is_in_frame)


def _skip() -> Markup:
    return element("a", "Skip to what was found", href="#main", class_="skip")


def _header(report: Report) -> Markup:
    how = "graded sealed" if report.is_sealed else "checked unsealed"
    notes = [
        *(f"{part.name}: {note}" for part in report.parts for note in part.notes),
        *report.notes,
    ]
    return element(
        "header",
        element("p", f"{one_line(report.assignment)}: {one_line(report.title)}", class_="faint"),
        element("h1", score_text(report)),
        *(element("p", each) for each in worth_texts(report)),
        element("p", f"{one_line(report.submission)}, {how}", class_="faint"),
        *(element("p", f"Note: {one_line(note)}") for note in notes),
    )


def _overview(report: Report, parts_of_causes: Sequence[PartResult]) -> Markup:
    """Return the parts, each with a link to its dearest cause."""
    numbers: dict[str, int] = {}
    for number, part in enumerate(parts_of_causes, 1):
        numbers.setdefault(part.name, number)
    rows: list[tuple[Child, ...]] = [
        (_linked(part, numbers.get(part.name)), _result(part), part_points(report, part))
        for part in report.parts
    ]
    parts = table("The parts", ("part", "result", "points"), rows)
    return element("section", parts, class_="parts")


def _linked(part: PartResult, number: int | None) -> Markup:
    name = breakable(one_line(part.name))
    return name if number is None else element("a", name, href=f"#cause-{number}")


def _result(part: PartResult) -> Markup:
    if is_missing(part):
        return joined(verdict_text(part.verdict, NOT_HANDED_IN), f": {one_line(part.message)}")
    return verdict_text(part.verdict, VERDICT_WORDS[part.verdict])


def _manual(parts: tuple[ManualPart, ...]) -> list[Markup]:
    if not parts:
        return []
    rows: list[tuple[Child, ...]] = [
        (one_line(part.title), one_line(part.found), f"{number_text(part.max_points)} pending")
        for part in parts
    ]
    content = table("What is pending", ("what", "found", "points"), rows)
    return [
        element(
            "section",
            element("h2", "Marked by a person", id="manual"),
            element("div", content, class_="parts"),
            aria_labelledby="manual",
        )
    ]


def _footer(report: Report) -> Markup:
    versions = report.versions
    return element(
        "footer",
        element(
            "p",
            f"Submission digest {report.submission_digest[:12]}; grader {versions.grader}, engine "
            f"{versions.engine_digest[:12]}, course {one_line(versions.course)} "
            f"{versions.course_digest[:12]}; {report.started_at}. "
            "The pictures show what the ranks noted of their own calls: they illustrate a verdict "
            "and prove nothing beyond it.",
        ),
    )
