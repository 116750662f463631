"""What a study measures: points, in the order in which they are measured."""

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

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
                f"{point.name}: expected 1 or more ranks and repeats and a time limit above 0, "
                f"found {point.ranks}, {point.num_repeats} and {point.limit_s:g} s"
            )
    return found
