"""The page of a study: findings, figures with captions, the machine, what was not measured."""

from collections.abc import Sequence

from grader.study.figures import Chart, Figure
from grader.study.plan import Point
from grader.study.results import Machine, Results

_MOST_ROWS_ON_THE_PAGE = 60


def page(
    title: str,
    about: str,
    drawn: Sequence[tuple[Figure, str]],
    findings: Sequence[str],
    results: Results,
    points: Sequence[Point],
) -> str:
    """Return README.md of a study.

    about: whose code was measured. drawn: figures with their captions.
    """
    lines = [f"# {title}", "", f"What was measured: {about}. No mark comes of this.", ""]
    if findings:
        lines += ["## What was found", "", *(f"- {_plain(each)}" for each in findings), ""]
    lines += ["## Figures", ""]
    for figure, caption in drawn:
        lines += [f"### {figure.title}", "", f"![{figure.title}]({figure.name}.svg)", ""]
        lines += [_plain(caption), ""]
        lines += [f"[PNG]({figure.name}.png), [data]({figure.name}.csv)", ""]
        if not isinstance(figure, Chart):
            lines += [*_table(figure.columns, figure.rows[:_MOST_ROWS_ON_THE_PAGE]), ""]
    lines += [*_not_measured(results, points), *_machine(results.machine)]
    return "\n".join(lines)


def _not_measured(results: Results, points: Sequence[Point]) -> list[str]:
    missing = [(point.name, results.why_missing(point.name)) for point in points]
    doubts = [(point.name, "; ".join(results.doubts(point.name))) for point in points]
    lines = []
    for title, head, found in (
        ("Not measured", "why", missing),
        ("Measured in part", "what has no mark", doubts),
    ):
        rows = [(name, said) for name, said in found if said]
        if rows:
            lines += [f"## {title}", "", *_table(("run", head), rows), ""]
    return lines


def _machine(machine: Machine) -> list[str]:
    rows = [
        ("processor", machine.processor),
        ("cores that could be used", machine.num_cores),
        *machine.software.items(),
    ]
    return ["## Machine", "", *_table(("", ""), rows), ""]


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
        *("| " + " | ".join(_cell(each) for each in row) + " |" for row in rows),
    ]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return _plain(f"{value:.4g}" if isinstance(value, float) else str(value))


def _plain(text: str) -> str:
    """Return a text that Markdown takes as words, whatever a submission has printed."""
    for each in "\\`*_[]<>|":
        text = text.replace(each, f"\\{each}")
    return " ".join(text.split())
