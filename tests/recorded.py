"""Ranks of tests: started only for what was not observed before on this machine.

What was observed lies in the user's cache, where a fresh clone finds it as well.
"""

import hashlib
from collections.abc import Callable
from contextlib import ExitStack

from grader.course.courses import bundled
from grader.course.versions import lock_digest, observer_digest, packages
from grader.grading import observing
from grader.judge.explanation.launch_result import explaining
from grader.observe.interposer.build import cache_folder
from grader.observe.run_control.forkserver_client import ForkserverClient
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import LaunchObservation, Observer
from grader.recording.recording import RecordedLaunch
from grader.recording.replay import filling
from grader.recording.store import Store


def store(observer: str | None = None) -> Store:
    """Return the recordings of tests: of this observer, Python and packages, unless named."""
    parts = [observer_digest(), lock_digest(), *map(str, sorted(packages().items()))]
    ours = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return Store(cache_folder() / "recordings", observer or ours)


class Ranks:
    """Puts plans to ranks, or finds them. Use as a context manager."""

    def __init__(self, *, is_live: bool, observer: str | None) -> None:
        """is_live: start ranks for every plan, whatever was observed before.

        observer: the digest of another one than ours, whose recordings are judged.
        """
        self._is_live = is_live
        self._is_others = observer is not None
        self._store = store(observer)
        self._stack = ExitStack()
        self._servers: dict[tuple[str, ...], ForkserverClient] = {}
        self.num_found = 0
        self.num_observed = 0

    def observer(self, assignment: str, *, is_live: bool = False) -> Observer:
        """Return what observes launches of a bundled assignment; is_live: of these, too."""
        return self.observer_with(bundled().load(assignment).needs, is_live=is_live)

    def observer_with(self, needs: tuple[str, ...], *, is_live: bool = False) -> Observer:
        """Return the same of one whose ranks import these modules."""

        def observe(plan: LaunchPlan) -> LaunchObservation:
            self.num_observed += 1
            return observing.observer(self._server(needs))(plan)

        if is_live:
            return observe
        if self._is_live:
            return filling(lambda key: None, observe, self._store.keep)
        return filling(self._find, observe, None if self._is_others else self._store.keep)

    def launcher(self, assignment: str, *, is_live: bool = False) -> Callable:
        """Return the same with what it comes to."""
        return explaining(self.observer(assignment, is_live=is_live))

    def _find(self, key: str) -> RecordedLaunch | None:
        found = self._store.find(key)
        self.num_found += found is not None
        return found

    def _server(self, needs: tuple[str, ...]) -> ForkserverClient:
        if needs not in self._servers:
            self._servers[needs] = self._stack.enter_context(ForkserverClient(needs))
        return self._servers[needs]

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        self._store.prune()
