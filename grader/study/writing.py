"""Makes a whole study: measures, draws, and writes the folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import Assignment
from grader.intake.submission import Submission
from grader.model.errors import GraderError, UsageError
from grader.study import loading
from grader.study.captions import QUIET, caption, is_empty
from grader.study.figures import Chart, Figure
from grader.study.machine import busy_share, this_machine
from grader.study.page import page
from grader.study.plan import Extent
from grader.study.results import Results
from grader.study.running import Job, run
from grader.study.store import FILE, Store
from grader.study.workplace import sources

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
    study = loading.load(assignment)
    points = loading.points_of(study, extent)
    found, machine = sources(assignment, submission), this_machine()
    job = Job(points, extent, found, machine, data, busy_share())
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
            (out / f"{figure.name}.csv").write_text(figure.csv(), encoding="utf-8")
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
        f"Other programs took {busy:.0%} of the cores' time when this study began. So times "
        "are too long, and some runs may not have finished."
    )


def _shown(
    study: loading.Study, results: Results, out: Path
) -> tuple[Sequence[Figure], tuple[str, ...]]:
    """Return figures and findings. Raises GraderError where they cannot be made.

    The numbers come from processes that run a submission, which may have reported others.
    """
    try:
        return study.figures(results), tuple(study.findings(results))
    except Exception as error:
        raise GraderError(
            f"no figures can be made of the results, see {out / FILE}: {type(error).__name__}: "
            f"{error}"
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
            f"{out} holds a {PAGE} of something else, which would be replaced; name another "
            "folder with --out"
        )
