"""The words a suite uses beside pytest's own, and what a test says by them of itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from grader.model.errors import GraderError
from grader.model.points import checked


class TestNotRun(pytest.skip.Exception):  # type: ignore[misc,name-defined,unused-ignore]
    """A test is not run, because of what others or itself have found of the submission."""

    is_for_failures = True
    """It would have been run if others had held."""

    def __init__(self, reason: str, blocked_by: tuple[str, ...] = ()) -> None:
        """blocked_by: the tests that failed, without which this one says nothing."""
        super().__init__(f"not run: {reason}")
        self.blocked_by = blocked_by


class TestNotAskedFor(TestNotRun):
    """A test is not run whatever others have found."""

    is_for_failures = False


MARKS = ("part(name)", "points(number, requires, own)", "stage(number, own)")
"""For pytest, which is told all marks that there are."""


def part(name: str) -> pytest.MarkDecorator:
    """Return the mark that says which part of the assignment the tests of a module grade."""
    return pytest.mark.part(name)


def points(
    number: float,
    requires: Callable[..., Any] | tuple[Callable[..., Any], ...] = (),
    own: str | None = None,
) -> pytest.MarkDecorator:
    """Return the mark that gives a test its points if it passes with all its parameters.

    requires: test functions above; this test runs only if at least one of them passed, and earns
    nothing otherwise. If empty, it always runs.
    own: a part whose student's version this test needs; it earns nothing when the part under
    test is graded again with our version of that part. Raises ValueError for a number that
    cannot be points: see grader.model.points.
    """
    functions = requires if isinstance(requires, tuple) else (requires,)
    names = tuple(function.__name__ for function in functions)
    return pytest.mark.points(checked(number), requires=names, own=own)


def stage(number: float, own: str | None = None) -> pytest.MarkDecorator:
    """Return the mark of a stage: if its test passes, the part gets at least this number.

    A stage has no points of its own, and stands below all tests with points. It runs only if
    these earned fewer points than the number. It says what the calls show of code whose results
    are wrong, missing or cut short. If it fails, or has seen no case, no points are lost.
    own: as of `points`. Raises ValueError for a number that is none of points.
    """
    return pytest.mark.stage(checked(number), own=own)


def not_run(reason: str) -> NoReturn:
    """End a test that does not apply: it counts as not run, and earns nothing."""
    raise TestNotRun(reason)


def make_marks_known(config: pytest.Config) -> None:
    """Register the marks of a suite; `mpi` is pytest-mpi's, which need not be loaded."""
    for mark in ("mpi", *MARKS):
        config.addinivalue_line("markers", mark)


def required_by(item: pytest.Item) -> tuple[str, ...]:
    """Return the tests of which one has to hold for this one to be run; empty for any."""
    mark = item.get_closest_marker("points")
    return mark.kwargs.get("requires") or () if mark is not None else ()


def part_of(item: pytest.Item) -> str:
    """Return the part that a test grades."""
    mark = item.get_closest_marker("part")
    if mark is None:
        raise GraderError(f"{item.name} grades no part; set pytestmark = [part(NAME), ...]")
    return str(mark.args[0])


def stage_of(item: pytest.Item) -> float | None:
    """Return what the part is paid at least where this stage holds; None for what is no stage."""
    mark = item.get_closest_marker("stage")
    return float(mark.args[0]) if mark is not None else None


def suite_of(item: pytest.Item) -> str:
    """Return the name of the file a test is in, without its suffix."""
    return item.path.stem


def function_of(item: pytest.Item) -> str:
    """Return the name of a test without its parameters."""
    return str(getattr(item, "originalname", None) or item.name)


def words(name: str) -> str:
    """Return a test's name as words."""
    return name.removeprefix("test_").replace("_", " ")


def points_of(item: pytest.Item) -> pytest.Mark:
    """Return what the test is marked with; raises GraderError when it is not marked."""
    mark = item.get_closest_marker("points")
    if mark is None:
        raise GraderError(f"{item.name} has no points; mark it with @points(number)")
    return mark


def own_part_of(item: pytest.Item) -> str | None:
    """Return the part that the test is only asked with the student's own version of, if any."""
    return (item.get_closest_marker("stage") or points_of(item)).kwargs.get("own")


def sentence_of(item: pytest.Item) -> str:
    """Return what a test asks, in the words a student reads."""
    text = getattr(item.obj, "__doc__", None) or words(function_of(item))  # type: ignore[attr-defined]
    return " ".join(text.strip().split("\n\n")[0].split())


_PREFIX = "test_"
_RUN = "run"
"""The fixture that a test starts ranks by."""


@dataclass(frozen=True)
class Selection:
    """What is left out of a grading; whatever is, the result is no mark."""

    only: tuple[str, ...] = ()
    """Names of the only tests to run, with or without `test_`; empty for all."""
    ranks: int | None = None
    """The only number of ranks to run on; None for all."""
    fail_fast: bool = False
    """Run nothing after the first test that does not hold."""
    first_with_ranks: bool = False
    """Run no test but the first that starts ranks, and what it requires."""

    @property
    def is_whole(self) -> bool:
        """Return whether every test is run on every number of ranks."""
        return not self.only and self.ranks is None and not self.first_with_ranks

    @property
    def is_mark(self) -> bool:
        """Return whether what comes of it is a mark."""
        return self.is_whole and not self.fail_fast

    @property
    def full_names(self) -> tuple[str, ...]:
        """Return the names of the only tests to run as the suite has them."""
        return tuple(each if each.startswith(_PREFIX) else _PREFIX + each for each in self.only)

    def of(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Return the items to run.

        With a test those it requires are run, and of a test for several numbers of ranks only the
        wanted one.
        """
        wanted = self._with_required(items)
        return [item for item in items if function_of(item) in wanted and self._suits(item)]

    def _with_required(self, items: Sequence[pytest.Item]) -> set[str]:
        required = {function_of(item): required_by(item) for item in items}
        wanted = self._asked_for(items)
        # What is required stands above: one pass from below finds all of it.
        for name in reversed(required):
            wanted |= set(required[name]) if name in wanted else set()
        return wanted

    def _asked_for(self, items: Sequence[pytest.Item]) -> set[str]:
        names = set(map(function_of, items))
        if self.only:
            return names & set(self.full_names)
        starting = [
            function_of(item) for item in items if _RUN in getattr(item, "fixturenames", ())
        ]
        return set(starting[:1]) if self.first_with_ranks else names

    def _suits(self, item: pytest.Item) -> bool:
        callspec = getattr(item, "callspec", None)
        ranks = callspec.params.get("ranks") if callspec is not None else None
        return self.ranks is None or ranks is None or ranks == self.ranks
