"""Which tests of a suite are run: all for a mark, some for a student who mends one thing."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from grader.grading_plugin.plugin_base import function_of, required_by

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

    def split(self, items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
        """Return the items to run, and the others.

        With a test those it requires are run, and of a test for several numbers of ranks only the
        wanted one.
        """
        wanted = self._with_required(items)
        kept = [item for item in items if function_of(item) in wanted and self._suits(item)]
        return kept, [item for item in items if item not in kept]

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
