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
    reasons = {each.name: results.why_missing(each.name) for each in points}
    missing = [(name, why) for name, why in reasons.items() if why]
    lines = [f"# {title}", "", f"What was measured: {about}. This is not a mark.", ""]
    if note:
        lines += [note, ""]
    # What a program did wrong has no figure: it is not seen in any of them.
    wrong = by_reason(each for each in missing if each[0] in results.runs)
    found = [*findings, *(f"{names}: {why}" for names, why in wrong if not is_known(why))]
    if found:
        lines += ["## What was found", "", *(f"- {_plain(each)}" for each in found), ""]
    lines += ["## Figures", ""]
    for figure, caption in drawn:
        lines += [f"### {figure.title}", "", f"![{figure.title}]({figure.name}.svg)", ""]
        lines += [_plain(caption), ""]
        lines += [f"[PNG]({figure.name}.png), [data]({figure.name}.csv)", ""]
        lines += _listed(figure)
    lines += _section("Not measured", ("run", "why"), missing)
    failed = [(run.point, run.repeat + 1, run.failure) for run in results.failed_runs()]
    told = "The figures use only the other runs."
    lines += _section("Runs that failed", ("of", "run", "why"), failed, told)
    machine = [
        ("processor", results.machine.processor),
        ("cores that could be used", results.machine.num_cores),
        ("images", results.images or "not known"),
        *results.machine.software.items(),
    ]
    return "\n".join([*lines, *_section("Machine", ("", ""), machine)])


def _listed(figure: Figure) -> list[str]:
    """Return the rows of a figure: whoever cannot see it reads them, or has them read."""
    num_left_out = len(figure.rows) - _MOST_ROWS_ON_THE_PAGE
    lines = [*_table(figure.columns, figure.rows[:_MOST_ROWS_ON_THE_PAGE]), ""]
    if num_left_out > 0:
        verb = "row is" if num_left_out == 1 else "rows are"
        lines += [f"{num_left_out} more {verb} in the data.", ""]
    if not isinstance(figure, Chart):
        return lines
    return ["<details><summary>Show as table</summary>", "", *lines, "</details>", ""]


def _section(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], told: str = ""
) -> list[str]:
    """Return a section that is a table; nothing where the table is empty."""
    before = [f"## {title}", "", *([told, ""] if told else ())]
    return [*before, *_table(columns, rows), ""] if rows else []


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
