"""Makes a whole study: measures, draws, and writes the folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Assignment
from grader.errors import GraderError, UsageError
from grader.study import loading
from grader.study.captions import caption, is_empty
from grader.study.figures import Chart
from grader.study.machine import this_machine
from grader.study.page import page
from grader.study.plan import Extent
from grader.study.running import Job, run
from grader.study.store import Store
from grader.study.workplace import sources
from grader.submission import Submission

PAGE = "README.md"


@dataclass(frozen=True)
class Made:
    """What came of a study."""

    num_figures: int
    num_points: int
    missing: tuple[tuple[str, str], ...]
    """Points without a figure, each with the reason."""
    failed_runs: tuple[tuple[str, str], ...]
    """Runs that failed of points with others: `a, run 2`, each with the reason."""
    findings: tuple[str, ...]


def make(
    assignment: Assignment,
    submission: Submission | None,
    out: Path,
    extent: Extent,
    data: str,
    tell: Callable[[str], None],
) -> Made:
    """Measure and draw into the folder `out`; what it holds already is not measured again.

    submission: None for the reference. data: the folder of MNIST or CIFAR-10, or nothing. Raises
    UsageError where there is no study or no reference, or `out` cannot be written.
    """
    _require_ours(out)
    study = loading.load(assignment)
    points = loading.points_of(study, extent)
    job = Job(points, extent, sources(assignment, submission), this_machine(), data)
    results = run(job, Store(out), tell)
    tell("drawing")
    from grader.study.draw import draw  # matplotlib takes a second to import

    drawn = []
    for figure in study.figures(results):
        if is_empty(figure):
            continue
        if isinstance(figure, Chart):
            figure = figure.finite()
        text = caption(figure, results.machine)
        try:
            (out / f"{figure.name}.csv").write_text(figure.csv(), encoding="utf-8")
            draw(figure, text, str(out / figure.name))
        except OSError as error:
            raise GraderError(f"{out}: {figure.name} cannot be written: {error}") from None
        drawn.append((figure, text))
    findings = tuple(study.findings(results))
    about = "the reference" if submission is None else submission.origin
    title = f"Study of {assignment.name}"
    (out / PAGE).write_text(page(title, about, drawn, findings, results, points), encoding="utf-8")
    missing = [(point.name, results.why_missing(point.name)) for point in points]
    return Made(
        len(drawn),
        len(points),
        tuple(each for each in missing if each[1]),
        tuple((f"{run.point}, run {run.repeat + 1}", run.failure) for run in results.failed_runs()),
        findings,
    )


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
            f"{out} holds a {PAGE} that is no study's and would be replaced; name another folder "
            "with --out"
        )
