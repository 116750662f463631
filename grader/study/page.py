"""The page of a study: findings, figures with captions, the machine, what was not measured."""

from collections.abc import Sequence

from grader.study.failure import by_reason, is_known
from grader.study.figures import Chart, Figure, shown
from grader.study.plan import Point
from grader.study.results import Results

_MOST_ROWS_ON_THE_PAGE = 60


def page(
    title: str,
    about: str,
    drawn: Sequence[tuple[Figure, str]],
    findings: Sequence[str],
    results: Results,
    points: Sequence[Point],
    note: str = "",
) -> str:
    """Return README.md of a study.

    about: whose code was measured. drawn: figures with their captions. note: on all of them.
    """
    lines = [f"# {title}", "", f"What was measured: {about}. No mark comes of this.", ""]
    if note:
        lines += [note, ""]
    found = [*findings, *_went_wrong(results, points)]
    if found:
        lines += ["## What was found", "", *(f"- {_plain(each)}" for each in found), ""]
    lines += ["## Figures", ""]
    for figure, caption in drawn:
        lines += [f"### {figure.title}", "", f"![{figure.title}]({figure.name}.svg)", ""]
        lines += [_plain(caption), ""]
        lines += [f"[PNG]({figure.name}.png), [data]({figure.name}.csv)", ""]
        listed = _listed(figure)
        lines += _folded(listed) if isinstance(figure, Chart) else listed
    lines += [*_not_measured(results, points), *_failed(results), *_machine(results)]
    return "\n".join(lines)


def _listed(figure: Figure) -> list[str]:
    """Return the rows of a figure: whoever cannot see it reads them, or has them read."""
    num_left_out = len(figure.rows) - _MOST_ROWS_ON_THE_PAGE
    lines = [*_table(figure.columns, figure.rows[:_MOST_ROWS_ON_THE_PAGE]), ""]
    if num_left_out > 0:
        verb = "row is" if num_left_out == 1 else "rows are"
        lines += [f"{num_left_out} more {verb} in the data.", ""]
    return lines


def _folded(lines: Sequence[str]) -> list[str]:
    return [
        "<details><summary>The same as a table</summary>",
        "",
        *lines,
        "</details>",
        "",
    ]


def _went_wrong(results: Results, points: Sequence[Point]) -> list[str]:
    """Return what has no figure because of what it does: it is not seen in any of them."""
    ran = [
        (point.name, results.why_missing(point.name))
        for point in points
        if point.name in results.runs and results.why_missing(point.name)
    ]
    return [f"{names}: {why}" for names, why in by_reason(ran) if not is_known(why)]


def _not_measured(results: Results, points: Sequence[Point]) -> list[str]:
    missing = {point.name: results.why_missing(point.name) for point in points}
    rows = [(name, why) for name, why in missing.items() if why]
    if not rows:
        return []
    return ["## Not measured", "", *_table(("run", "why"), rows), ""]


def _failed(results: Results) -> list[str]:
    """Return which runs failed of points that have others: of those alone are the figures."""
    rows = [(run.point, run.repeat + 1, run.failure) for run in results.failed_runs()]
    if not rows:
        return []
    told = "The figures of these are of their other runs alone."
    return ["## Runs that failed", "", told, "", *_table(("of", "run", "why"), rows), ""]


def _machine(results: Results) -> list[str]:
    machine = results.machine
    rows = [
        ("processor", machine.processor),
        ("cores that could be used", machine.num_cores),
        ("images", results.images or "not known"),
        *machine.software.items(),
    ]
    return ["## Machine", "", *_table(("", ""), rows), ""]


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
        *("| " + " | ".join(_plain(shown(each)) for each in row) + " |" for row in rows),
    ]


def _plain(text: str) -> str:
    """Return a text that Markdown takes as words, whatever a submission has printed."""
    for each in "\\`*_[]<>|":
        text = text.replace(each, f"\\{each}")
    return " ".join(text.split())
