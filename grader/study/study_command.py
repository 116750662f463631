"""The command that measures and draws what a handout asks for, and writes the folder: study."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.commands.context import courses_of, data_folder, is_sealed, look, say
from grader.course.assignment import Assignment
from grader.course.data import require_known_files
from grader.intake import process as intake
from grader.intake.placement.recognition import require_likely
from grader.intake.submission import Submission
from grader.model.errors import INTERRUPTED, GraderError, UsageError
from grader.model.plural import counted
from grader.observe.run_control.machine import check_machine
from grader.report.safe_text import disarm, one_line, visible
from grader.study.figures import Chart, Figure, csv_text
from grader.study.measure import by_reason, sources
from grader.study.page import caption, is_empty, page
from grader.study.plan import Extent, Study, load, points_of
from grader.study.results import QUIET, Results
from grader.study.running import FILE, Job, Store, run, this_machine

PAGE = "README.md"


@dataclass(frozen=True)
class Made:
    """The result of a study."""

    num_figures: int
    num_points: int
    missing: tuple[tuple[str, str], ...]
    """Points without a figure, each with the reason."""
    failed_runs: tuple[tuple[str, str], ...]
    """Runs that failed of points with others: `a, run 2`, each with the reason."""
    findings: tuple[str, ...]
    note: str
    """What is to be known of all figures; empty where there is nothing."""


def make(
    assignment: Assignment,
    submission: Submission | None,
    out: Path,
    extent: Extent,
    data: str,
    tell: Callable[[str], None],
) -> Made:
    """Measure and draw into the folder `out`; nothing is measured twice.

    submission: None for the reference. data: the folder of MNIST or CIFAR-10, or nothing. Raises
    UsageError where there is no study or no reference, or `out` cannot be written.
    """
    _require_ours(out)
    study = load(assignment)
    points = points_of(study, extent)
    found, machine = sources(assignment, submission), this_machine()
    job = Job(points, extent, found, machine, data)
    results = run(job, Store(out), tell)
    note = _on_noise(results.busy_share)
    tell("drawing")
    from grader.study.draw import draw  # matplotlib takes a second to import

    figures, findings = _shown(study, results, out)
    drawn = []
    for figure in figures:
        if is_empty(figure):
            continue
        if isinstance(figure, Chart):
            figure = figure.finite()
        text = caption(figure, results.machine, results.busy_share)
        try:
            (out / f"{figure.name}.csv").write_text(csv_text(figure), encoding="utf-8")
            draw(figure, text, str(out / figure.name))
        except OSError as error:
            raise GraderError(f"{out}: {figure.name} cannot be written: {error}") from None
        drawn.append((figure, text))
    about = "the reference" if submission is None else submission.origin
    title = f"Study of {assignment.name}"
    text = page(title, about, drawn, findings, results, points, note)
    (out / PAGE).write_text(text, encoding="utf-8")
    missing = [(point.name, results.why_missing(point.name)) for point in points]
    return Made(
        len(drawn),
        len(points),
        tuple(each for each in missing if each[1]),
        tuple((f"{run.point}, run {run.repeat + 1}", run.failure) for run in results.failed_runs()),
        findings,
        note,
    )


def _on_noise(busy: float) -> str:
    if busy <= QUIET:
        return ""
    return (
        f"In the median run, other programs took {busy:.0%} of the cores' time. The times are "
        "therefore too long, and some runs might not have finished."
    )


def _shown(study: Study, results: Results, out: Path) -> tuple[Sequence[Figure], tuple[str, ...]]:
    """Return figures and findings. Raises GraderError where they cannot be made.

    The numbers come from processes that run a submission, which may have reported others.
    """
    try:
        return study.figures(results), tuple(study.findings(results))
    except Exception as error:
        raise GraderError(
            f"the results cannot be drawn (see {out / FILE}): {type(error).__name__}: {error}"
        ) from error


def _require_ours(out: Path) -> None:
    """Raise UsageError for a folder with a page that is none of a study's: it would be replaced."""
    try:
        text = (out / PAGE).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UsageError(f"{out / PAGE} cannot be read: {error.strerror}") from None
    if not text.startswith("# Study of "):
        raise UsageError(
            f"{out} contains a {PAGE} not written by a study, and this study would overwrite it; "
            "name another folder with --out"
        )


_CLEARED = "\r\x1b[K"
_MOST_REASONS = 8


def study(options: argparse.Namespace) -> int:
    """Measure and draw; return 0 once the folder is written, whatever was measured."""
    if is_sealed():
        raise UsageError(
            "`grade study` runs code as your user; run it on your own machine, outside the "
            "container"
        )
    courses = courses_of(options)
    assignment = courses.assignment(options.assignment)
    submission = None
    if options.submission is not None:
        submission = intake.read(options.submission, courses.wanted(options.assignment))
        require_likely(submission, assignment, courses.readable())
    check_machine((*assignment.needs, "matplotlib"))
    data = data_folder(options)
    if data is not None:
        require_known_files(data)
    out = options.out or Path(f"study-{assignment.name}")
    try:
        made = make(
            assignment,
            submission,
            out,
            _extent(options),
            str(data.resolve()) if data is not None else "",
            _teller(options),
        )
    except KeyboardInterrupt:
        if _is_overwritten(options):
            say("")  # below the line of progress
        raise GraderError(
            f"{INTERRUPTED}; the measurements are in {out}. Run the same command again to continue"
        ) from None
    if made.note:
        say(made.note)
    print("\n".join(_ending(made, out)))
    return 0


def _extent(options: argparse.Namespace) -> Extent:
    if options.quick:
        return Extent.QUICK
    return Extent.FULL if options.full else Extent.DEFAULT


def _is_overwritten(options: argparse.Namespace) -> bool:
    """Return whether progress is one line that is overwritten."""
    return sys.stderr.isatty() and not options.plain


def _teller(options: argparse.Namespace) -> Callable[[str], None]:
    """Return what shows how far a study is: in a line that is overwritten, or line by line."""
    is_overwritten = _is_overwritten(options)
    _, width = look(is_overwritten, options)

    def tell(text: str) -> None:
        if not is_overwritten:
            say(disarm(one_line(text)))
        elif text == "drawing":
            say(_CLEARED, end="")
        else:
            say(f"{_CLEARED}{visible(text)[: width - 1]}", end="")

    return tell


def _ending(made: Made, out: Path) -> list[str]:
    lines = [*(f"- {one_line(each)}" for each in made.findings)]
    missing = f"measurements missing from the figures ({len(made.missing)} of {made.num_points}):"
    failed = "failed runs, not in the figures (other runs of the same measurement succeeded):"
    for head, told in ((missing, by_reason(made.missing)), (failed, made.failed_runs)):
        shown = [f"  {one_line(who)}: {one_line(why)}" for who, why in told[:_MOST_REASONS]]
        lines += [head, *shown] if told else []
        if len(told) > _MOST_REASONS:
            lines.append(f"  and {len(told) - _MOST_REASONS} more, listed in {PAGE}")
    figures = counted(made.num_figures, "figure or table", "figures and tables")
    return [*lines, f"{out / PAGE}: {figures}; this is not a mark"]
