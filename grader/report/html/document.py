"""The page of a report: its head, an overview of the parts, each part, versions."""

from grader.model import ManualPart, Report
from grader.report.deductions import number_text, score_sentence
from grader.report.html.circle import tips
from grader.report.html.markup import Child, Markup, breakable, element, table
from grader.report.html.part import part_points, part_section, verdict_text
from grader.report.html.whole import whole
from grader.report.safe_text import one_line


def render(report: Report, *, is_in_frame: bool = False) -> str:
    """Return the report as one HTML page that loads nothing and runs nothing.

    is_in_frame: it is to be the `srcdoc` of a frame, not a file.
    """
    sections = [part_section(report, part, n) for n, part in enumerate(report.parts, 1)]
    main = element("main", _overview(report), *sections, *_manual(report.manual_parts))
    title = f"{one_line(report.assignment)}: {one_line(report.submission)}"
    body = (_skip(), tips(), _header(report), main, _footer(report))
    return whole(title, *body, is_in_frame=is_in_frame)


def _skip() -> Markup:
    return element("a", "Skip to the first part", href="#part-1", class_="skip")


def _header(report: Report) -> Markup:
    how = "graded sealed" if report.is_sealed else "checked unsealed: not the mark"
    recognised = "; the assignment was recognised by its files" if report.is_recognised else ""
    return element(
        "header",
        element("h1", f"{one_line(report.assignment)}: {one_line(report.title)}"),
        element("p", f"{one_line(report.submission)}, {how}{recognised}", class_="faint"),
        element("p", score_sentence(report), class_="score"),
        *(element("p", f"Note: {one_line(note)}") for note in report.notes),
    )


def _overview(report: Report) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            element("a", breakable(one_line(part.name)), href=f"#part-{number}"),
            verdict_text(part.verdict, is_narrow=True),
            part_points(part),
        )
        for number, part in enumerate(report.parts, 1)
    ]
    parts = table("The parts", ("part", "verdict", "points"), rows)
    return element("div", parts, class_="parts")


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
