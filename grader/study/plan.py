"""What a study measures: points, in the order in which they are measured; and where it is found."""

import enum
import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from grader.course.assignment import Assignment
from grader.model.errors import GraderError, UsageError
from grader.study.figures import Figure
from grader.study.results import Results

Setting = int | float | str | bool | list[int]


class Extent(enum.Enum):
    """How much a study measures, and within how many seconds."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"

    @property
    def budget_s(self) -> float | None:
        """Return after how long no point is started, and a running one is stopped.

        Drawing comes after that. None where a study may take as long as it takes.
        """
        return {Extent.QUICK: 105.0, Extent.DEFAULT: 540.0, Extent.FULL: None}[self]


class Launcher(enum.Enum):
    """How the processes of a point are started."""

    MPIRUN = "mpirun"
    PROCESSES = "processes"
    """One by one, each with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment."""


@dataclass(frozen=True)
class Point:
    """One program on some ranks with some settings; each is a mark of a figure."""

    name: str
    """Says all that is special of it, in words that a reader sees: `sync with ring, 4 ranks`."""
    series: str
    """Once a point has run into its time limit, the others of its series are left out."""
    program: str
    """A file in `programs/` beside the study."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What the program reads with `study_point.settings()`, beside `repeat`, from 0."""
    needs: tuple[str, ...] = ()
    """The files that a student hands in for it."""
    ranks: int = 1
    launcher: Launcher = Launcher.MPIRUN
    limit_s: float = 30.0
    expected_s: float = 3.0
    """On two quiet cores: what is left is estimated with it."""
    num_repeats: int = 3


def in_order(points: Iterable[Point]) -> Iterator[tuple[Point, int]]:
    """Yield each point with the number of its repetition, all first ones before all second ones.

    When time is up, then there is something of everything.
    """
    listed = list(points)
    for repeat in range(max((point.num_repeats for point in listed), default=0)):
        yield from ((point, repeat) for point in listed if repeat < point.num_repeats)


def problems(points: Iterable[Point]) -> list[str]:
    """Return a sentence for each mistake of a plan."""
    found, names = [], set()
    for point in points:
        if point.name in names:
            found.append(f"two points are called {point.name!r}; rename one of them")
        names.add(point.name)
        if point.ranks < 1 or point.num_repeats < 1 or point.limit_s <= 0:
            found.append(
                f"{point.name}: expected 1 or more ranks, 1 or more repeats, and a time limit "
                f"above 0 s; found {point.ranks}, {point.num_repeats}, and {point.limit_s:g} s"
            )
    return found


class Study(Protocol):
    """What `study/__init__.py` of an assignment has. All three compute, and do nothing else."""

    def points(self, extent: Extent) -> Sequence[Point]:
        """Return what is to be measured, the most important first."""

    def figures(self, results: Results) -> Sequence[Figure]:
        """Return the charts and tables of what was measured; where runs failed, without them."""

    def findings(self, results: Results) -> Sequence[str]:
        """Return sentences on what the figures show, with the numbers."""


def load(assignment: Assignment) -> Study:
    """Import the study of an assignment. Raises UsageError where it has none, GraderError."""
    if not (assignment.folder / "study" / "__init__.py").is_file():
        raise UsageError(
            f"{assignment.name} has no study: there is no {assignment.folder / 'study'}"
        )
    folder = str(assignment.folder.parent)
    sys.path.insert(0, folder)
    try:
        module = importlib.import_module(f"{assignment.folder.name}.study")
    except Exception as error:
        raise GraderError(
            f"the study of {assignment.name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path.remove(folder)
    missing = [name for name in ("points", "figures", "findings") if not hasattr(module, name)]
    if missing:
        raise GraderError(f"the study of {assignment.name} does not define {' or '.join(missing)}")
    return cast(Study, module)


def points_of(study: Study, extent: Extent) -> list[Point]:
    """Return the points of a study. Raises GraderError for mistakes in them."""
    found = list(study.points(extent))
    mistakes = problems(found)
    if mistakes:
        raise GraderError(*mistakes)
    return found
