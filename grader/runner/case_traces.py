"""Keeps what was seen of the cases of a run, for whoever wants to look at the calls themselves."""

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from grader.judge.counting import num_bytes_kept
from grader.judge.lower_case import name_lower_case
from grader.runner.launch_plan import CaseTrace
from grader.trace.calls import Calls, Trace, compacted_trace


class CaseTraces:
    """The traces of the cases of one run, and of the one in progress."""

    def __init__(
        self, read: Callable[[], Trace], phases: Collection[int], *, most_num_bytes: int
    ) -> None:
        """read: returns all calls since the case began. phases: those of the student's calls.

        most_num_bytes: of the calls of all cases together; with 0 nothing is read or kept.
        """
        self._read = read
        self._phases = phases
        self._most_num_bytes = most_num_bytes
        self._num_bytes = 0
        self._began_ns: int | None = None
        """None while no case is in progress."""
        self.kept: list[CaseTrace] = []

    def begin(self) -> None:
        """Note that the inputs of a case are handed out now."""
        self._began_ns = time.monotonic_ns()

    def unfinished(self) -> CaseTrace | None:
        """Return what was seen of the case in progress, whether or not any is kept."""
        return None if self._began_ns is None else self._seen(self._began_ns)

    def end(self) -> None:
        """Keep the calls that were made since; nothing where no case is in progress."""
        began_ns, self._began_ns = self._began_ns, None
        if began_ns is None or not self._most_num_bytes:
            return
        seen = self._seen(began_ns)
        self._num_bytes += num_bytes_kept(seen.trace)
        if self._num_bytes > self._most_num_bytes:
            seen = replace(seen, trace=_without_calls(seen.trace))
        self.kept.append(seen)

    def _seen(self, began_ns: int) -> CaseTrace:
        everything = self._read()
        seen = everything.of_phases(self._phases)
        num_others = everything.num_calls - seen.num_calls
        return CaseTrace(began_ns, compacted_trace(name_lower_case(seen)), num_others)


def _without_calls(trace: Trace) -> Trace:
    ranks = (replace(seen, calls=Calls.of(()), truncated=True) for seen in trace.ranks)
    return replace(trace, ranks=tuple(ranks))
