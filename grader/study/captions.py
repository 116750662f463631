"""What is said below a figure: what was measured, on how many cores, and what marks mean."""

from grader.study.figures import Chart, Figure, Table
from grader.study.results import Machine

QUIET = 0.2
"""Up to this share of busy cores, times are not much longer."""


def caption(figure: Figure, machine: Machine, busy_share: float = 0.0) -> str:
    """Return the whole caption of a figure: its own sentences, then how it was measured.

    busy_share: of the cores' time, what other programs took.
    """
    cores = "1 core" if machine.num_cores == 1 else f"{machine.num_cores} cores"
    shared = f", which other programs kept {busy_share:.0%} busy" * (busy_share > QUIET)
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
        few = "Each mark is" if {*num_runs} == {1} else "Some marks are"
        said.append(f"{few} of one run, which does not show how much it varies.")
    if any(dot.is_oversubscribed for dot in measured):
        little = "" if figure.is_share else ", so their time says little about a machine"
        said.append(f"Hollow {marks}: more ranks than cores{little}.")
    if any(each.is_modelled and each.dots for each in figure.series):
        said.append(f"{modelled} are modelled, not measured.")
    return " ".join(said)


def is_empty(figure: Figure) -> bool:
    """Return whether nothing was measured."""
    if isinstance(figure, Chart):
        return not any(each.dots for each in figure.series if not each.is_modelled)
    return not figure.rows
