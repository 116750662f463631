"""Grades attacks one after the other, with an honest control beside them on the other core.

The control beside attack k + 1 starts as soon as attack k has ended, so it is also the honest
submission graded right after attack k; one more control follows the last attack.
"""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker

from . import container, invariants
from .attack import CONTROLS, Attack
from .container import Graded
from .hidden_tests import suites_with_hidden_tests

_REMOVAL_S = 20.0


class AttackRunner:
    """Grades attacks in containers. Close it afterwards."""

    def __init__(self, tree: Path | None = None) -> None:
        """tree: as for container.grade, for attacks and controls."""
        self._tree = tree
        self._folder = tempfile.TemporaryDirectory()
        place = Path(self._folder.name) / "suites"
        self._suites_with_hidden_tests = suites_with_hidden_tests(place)
        self._control = Attack.of(CONTROLS / "honest")
        self._threads = ThreadPoolExecutor(1)
        self._last = ""
        self._containers: list[str] = []

    def grade(self, attack: Attack) -> Graded:
        """Grade one submission."""
        graded = container.grade(
            container.package(attack.files),
            options(attack),
            limit_s=attack.limit_s,
            tree=self._tree,
            suites=self._suites_with_hidden_tests if attack.hidden else None,
        )
        self._containers.append(graded.container)
        return graded

    def grade_alone(self, attack: Attack) -> Graded:
        """Grade an attack with nobody beside it."""
        graded = self.grade(attack)
        self._last = attack.name
        return graded

    def grade_beside_a_control(
        self, attack: Attack, *, head_start_s: float = 0.0
    ) -> tuple[Graded, list[str]]:
        """Return how an attack was graded, and what was wrong with the control.

        head_start_s: how much later the control begins, for an attack that must be at it by then.
        """
        beside = self._threads.submit(self._grade_control, head_start_s)
        graded = self.grade(attack)
        lost = self._disturbance(beside.result(), f"beside {attack.name}")
        self._last = attack.name
        return graded, lost

    def _grade_control(self, after_s: float) -> Graded:
        time.sleep(after_s)
        return self.grade(self._control)

    def _disturbance(self, control: Graded, where: str) -> list[str]:
        after = f", right after {self._last}" if self._last else ""
        problems = [*invariants.broken(self._control, control)]
        return [f"the honest control {where}{after}: {problem}" for problem in problems]

    def finish(self) -> list[str]:
        """Grade the control that comes right after the last attack; return what was wrong.

        Also looks whether the host still has any of the containers, or a process of theirs.
        """
        problems = self._disturbance(self.grade(self._control), "at the end")
        problems += [f"container {each} still exists" for each in self._left()]
        return problems + _processes_of(self._containers)

    def _left(self) -> set[str]:
        """Return which containers the engine has not removed in time; it does so by itself."""
        client = docker.from_env()
        until_s = time.monotonic() + _REMOVAL_S
        while True:
            kept = {each.id for each in client.containers.list(all=True, ignore_removed=True)}
            left = kept.intersection(self._containers)
            if not left or time.monotonic() > until_s:
                return left
            time.sleep(0.1)

    def close(self) -> None:
        """Let go of what is held."""
        self._threads.shutdown()
        self._folder.cleanup()


def options(attack: Attack) -> list[str]:
    """Return the options of `grade` that grade only what is attacked."""
    return ["--assignment", attack.assignment, "--part", attack.part]


def _processes_of(containers: list[str]) -> list[str]:
    """Return the processes of this host, zombies included, that belong to a container."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                groups = (entry / "cgroup").read_text()
                name = (entry / "comm").read_text().strip()
            except OSError:
                continue
            if any(each in groups for each in containers):
                found.append(f"{name} of a container that has ended is still there")
    return found
