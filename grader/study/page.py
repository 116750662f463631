"""The page of a study: findings, figures with captions, the machine, what was not measured."""

from collections.abc import Sequence
from pathlib import Path

from grader.model.plural import counted
from grader.report.markdown import environment
from grader.study.figures import Chart, Figure, Table, shown
from grader.study.measure import by_reason, is_known
from grader.study.plan import Point
from grader.study.results import QUIET, Machine, Results


def caption(figure: Figure, machine: Machine, busy_share: float = 0.0) -> str:
    """Return the whole caption of a figure: its own sentences, then how it was measured."""
    cores = counted(machine.num_cores, "core")
    shared = f"; other programs used {busy_share:.0%} of the CPU time" * (busy_share > QUIET)
    where = f"Measured on {cores} ({machine.processor}){shared}."
    said = [figure.caption, where]
    if isinstance(figure, Table):
        return " ".join(said) if figure.is_measured else figure.caption
    measured = [dot for each in figure.series if not each.is_modelled for dot in each.dots]
    marks, modelled = (
        ("bars", "Pale, hatched bars") if figure.is_bars else ("marks", "Broken lines")
    )
    if any(dot.low < dot.high for dot in measured) and "thin lines" not in figure.caption:
        said.append(
            f"{marks.capitalize()} are medians of several runs; thin lines show their range."
        )
    num_runs = [dot.num_runs for dot in measured if dot.num_runs]
    if 1 in num_runs:
        few = f"Each {marks[:-1]} shows" if {*num_runs} == {1} else f"Some {marks} show"
        said.append(f"{few} a single run, so the spread is unknown.")
    if any(dot.is_oversubscribed for dot in measured):
        little = "" if figure.is_share else ", so their times say little about any machine"
        said.append(f"Hollow {marks} are runs with more ranks than cores{little}.")
    if any(each.is_modelled and each.dots for each in figure.series):
        said.append(f"{modelled} are modelled, not measured.")
    return " ".join(said)


def is_empty(figure: Figure) -> bool:
    """Return whether nothing was measured."""
    if isinstance(figure, Chart):
        return not any(each.dots for each in figure.series if not each.is_modelled)
    return not figure.rows


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
    """Return README.md of a study."""
    reasons = {each.name: results.why_missing(each.name) for each in points}
    missing = [(name, why) for name, why in reasons.items() if why]
    # What a program did wrong has no figure: it is not seen in any of them.
    wrong = by_reason(each for each in missing if each[0] in results.runs)
    machine = [
        ("processor", results.machine.processor),
        ("available cores", results.machine.num_cores),
        ("images", results.images or "not known"),
        *results.machine.software.items(),
    ]
    return (
        environment(Path(__file__).parent, _plain)
        .get_template("page.jinja")
        .render(
            title=title,
            about=about,
            note=note,
            findings=[*findings, *(f"{who}: {why}" for who, why in wrong if not is_known(why))],
            drawn=drawn,
            most_rows=_MOST_ROWS_ON_THE_PAGE,
            missing=missing,
            failed=[(run.point, run.repeat + 1, run.failure) for run in results.failed_runs()],
            machine=machine,
            shown=shown,
        )
    )


def _plain(text: str) -> str:
    """Return a text that Markdown takes as words, whatever a submission has printed."""
    for each in "\\`*_[]<>|":
        text = text.replace(each, f"\\{each}")
    return " ".join(text.split())
