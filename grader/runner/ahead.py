"""Observes the launches that a judge will ask for, while it judges the last ones.

One launch at a time. Whose times are compared is observed when the judge asks for it, while it
waits. After a run that ended in a failure nothing is observed ahead: what the judge will ask for
then depends on it.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from grader.recording.launch_plan import MOST_TRACE_NUM_BYTES, LaunchAllowance, LaunchPlan
from grader.recording.observation import LaunchObservation, Observer
from grader.zygote.descriptors import TICK_S, interrupt

MOST_AHEAD = 3
"""Launches that are held until the judge asks for them."""
_ALLOWANCE = LaunchAllowance(trace_num_bytes=MOST_TRACE_NUM_BYTES // 8)
"""Of each of them; one that needs more is observed when the judge asks for it."""


@dataclass(eq=False)
class _Expected:
    plan: LaunchPlan
    is_begun: bool = False
    is_done: bool = False
    observed: LaunchObservation | None = None
    """None as well where the judge has to have it observed anew."""
    error: BaseException | None = None


class Ahead:
    """Observes expected plans in their order, in a thread. Call `stop` in the end."""

    def __init__(self, observe: Observer, abandon: Callable[[], None]) -> None:
        """observe: puts one plan to ranks. abandon: has it end what it is doing."""
        self._observe = observe
        self._abandon = abandon
        self._expected: list[_Expected] = []
        """In the order in which they will be asked for."""
        self._changed = threading.Condition()
        self._is_asked = False
        """The judge has a launch observed itself, or waits for its turn to."""
        self._running: _Expected | None = None
        self._is_stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def expect(self, plans: Iterable[LaunchPlan]) -> None:
        """Observe these plans after those that are expected already."""
        with self._changed:
            for plan in plans:
                if not any(case.is_timed for case in plan.cases):
                    self._expected.append(_Expected(replace(plan, allowance=_ALLOWANCE)))
            if self._expected and self._thread.ident is None:
                self._thread.start()
            self._changed.notify_all()

    def observe(self, plan: LaunchPlan) -> LaunchObservation:
        """Return what is seen of a plan, which may have been seen already.

        Raises what observing it has raised.
        """
        with self._changed:
            found = self._taken(plan)
            if found is not None and found.is_begun:
                self._wait_for(lambda: found.is_done)
                if found.error is not None:
                    raise found.error
                if found.observed is not None:
                    return found.observed
            self._is_asked = True
            if self._running is not None and self._running not in self._expected:
                self._abandon()
            self._wait_for(lambda: self._running is None)
        try:
            return self._observe(plan)
        finally:
            with self._changed:
                self._is_asked = False
                self._changed.notify_all()

    def stop(self) -> None:
        """Forget what is expected, and end the run that nobody has asked for."""
        with self._changed:
            self._is_stopped = True
            self._expected.clear()
            if self._running is not None:
                self._abandon()
            self._changed.notify_all()
        while self._thread.is_alive():
            self._thread.join(TICK_S)
            interrupt(self._thread)

    def _taken(self, plan: LaunchPlan) -> _Expected | None:
        """Return what is expected of a plan; none of those before it will be asked for any more."""
        for index, each in enumerate(self._expected):
            # The same cases: each has arrays, and is made once.
            if list(map(id, each.plan.cases)) == list(map(id, plan.cases)):
                del self._expected[: index + 1]
                self._changed.notify_all()
                return each
        return None

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        while not self._changed.wait_for(is_so, TICK_S):
            if self._thread.is_alive():
                interrupt(self._thread)

    def _work(self) -> None:
        while (each := self._next()) is not None:
            try:
                observed = self._observe(each.plan)
                if not any(case.num_calls_not_kept for case in observed.cases):
                    each.observed = observed
            except BaseException as error:
                each.error = error
            with self._changed:
                each.is_done, self._running = True, None
                is_abandoned = each not in self._expected and each.error is not None
                if not is_abandoned and (each.observed is None or each.observed.end is not None):
                    self._expected.clear()
                self._changed.notify_all()

    def _next(self) -> _Expected | None:
        """Wait for a plan to begin with; return None when there will be none."""
        with self._changed:
            while not self._is_stopped:
                todo = [each for each in self._expected if not each.is_begun]
                num_ahead = len(self._expected) - len(todo)
                if todo and not self._is_asked and num_ahead < MOST_AHEAD:
                    self._running = todo[0]
                    self._running.is_begun = True
                    return self._running
                self._changed.wait()
        return None
