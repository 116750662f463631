"""Looks at a run from outside, a few times a second: does it still move, does it use too much?"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from grader.observe.run_control.rank_files import RankFiles
from grader.recording.launch_plan import Limits
from grader.recording.observation import CaseTime, End, EndKind, Excess, RankEnd
from grader.trace.calls import Trace
from grader.trace.wait_for_graph import stalled_run

_STILL_S = 0.5
"""How long nothing may have moved before the run is examined for a deadlock."""
_PAUSE = 3
"""So many times as long as an examination took, no other one is made: a long trace takes long."""
_MANY_POLLS = 10
"""What a rank that does nothing but poll exceeds at once, also when it sleeps in between."""
_SILENT_S = 5.0
"""A rank that has computed for so long without a call is told of."""
_STACK_DUMP_S = 0.1
_STACK_LIMIT_S = 3.0


OnSilent = Callable[[int, tuple[str, int] | None], None]
"""Is called with a rank that has computed for 5 s without a call, and with its file and line."""


class Watched(Protocol):
    """What holds the processes of a run: a forkserver, or an open session."""

    def excess(self) -> Mapping[str, Any] | None:
        """Return what the run used too much of: `kind`, `used`, `allowed`; None if nothing."""

    def dump_stacks(self, ranks: Sequence[int]) -> None:
        """Have these ranks, as far as they live, write where they are."""


class Watch:
    """The judge's eyes on one run."""

    def __init__(
        self,
        files: Sequence[RankFiles],
        server: Watched,
        submission: Path,
        limits: Limits,
        *,
        makes_progress: bool,
        on_silent: OnSilent | None = None,
    ) -> None:
        """submission: its folder, as the ranks see it.

        makes_progress: MPI goes on inside of ranks that have returned.
        on_silent: is called for the first such rank of a case.
        """
        self._files = files
        self._server = server
        self._limits = limits
        self._makes_progress = makes_progress
        self._submission = submission
        self._first_sequences = [0] * len(files)
        self._seen: list[tuple[int, int, bool]] = []
        self._polls = [0] * len(files)
        """How often each rank had polled in vain when it was last seen moving."""
        self._still_since = time.monotonic()
        self._examine_from_s = 0.0
        """Before that, on the clock of `_still_since`, the run is not examined again."""
        self._on_silent = on_silent
        self._silent_since_s: list[tuple[int, float]] | None = None
        """For each rank, how far it had come in MPI and when; None where nobody is told of it."""

    def begin_case(
        self, first_sequences: Sequence[int] | None = None, *, tells_of_silent: bool = False
    ) -> None:
        """Remember where each rank's calls of the next case start: now, if they are left out.

        tells_of_silent: call `on_silent`, which holds up the judge for a moment.
        """
        now = [files.trace.snapshot().head for files in self._files]
        self._first_sequences = now if first_sequences is None else list(first_sequences)
        self._still_since = time.monotonic()
        self._examine_from_s = 0.0
        is_told = tells_of_silent and self._on_silent is not None
        self._silent_since_s = [(0, self._still_since)] * len(self._files) if is_told else None

    def end_case(self) -> None:
        """Tell of no rank any more: what follows is our own work."""
        self._silent_since_s = None

    def trace(self) -> Trace:
        """Return the calls since the case began."""
        return Trace(
            tuple(
                files.trace.read(first)
                for files, first in zip(self._files, self._first_sequences, strict=True)
            )
        )

    def still_s(self, returned: frozenset[int]) -> float:
        """Return for how long every rank but those returned has hung in MPI; 0 if one moves.

        A rank that polls now and then, and computes in between, does not hang.
        """
        seen, polls = [], []
        stuck = True
        for rank, files in enumerate(self._files):
            now = files.trace.snapshot()
            seen.append((now.progress, now.inside, now.polling))
            polls.append(now.num_failed_polls)
            stuck = stuck and (rank in returned or now.inside >= 0 or now.polling)
        if seen != self._seen or not stuck:
            self._seen, self._polls = seen, polls
            self._still_since = time.monotonic()
        for rank, (_, _, is_polling) in enumerate(seen):
            if (
                is_polling
                and rank not in returned
                and polls[rank] - self._polls[rank] < _MANY_POLLS
            ):
                return 0.0
        return time.monotonic() - self._still_since

    def look(self, returned: frozenset[int]) -> End | None:
        """Return what ends the run now, if anything does."""
        excess = self.excess()
        if excess is not None:
            return self.end(EndKind.EXCESS, returned, excess=excess)
        self._tell_of_silent(returned)
        return self._stalled(returned)

    def _tell_of_silent(self, returned: frozenset[int]) -> None:
        """Tell once a case of a rank that has computed for long, and of its line."""
        if self._on_silent is None or self._silent_since_s is None:
            return
        now_s = time.monotonic()
        for rank, files in enumerate(self._files):
            seen = files.trace.snapshot()
            progress, since_s = self._silent_since_s[rank]
            is_computing = seen.inside < 0 and not seen.polling and rank not in returned
            if not is_computing or seen.progress != progress:
                self._silent_since_s[rank] = seen.progress, now_s
            elif now_s - since_s > _SILENT_S:
                self._silent_since_s = None
                self._have_stacks_dumped([rank])
                self._on_silent(rank, files.place(str(self._submission)))
                files.forget_stacks()
                return

    def excess(self) -> Excess | None:
        """Return what the run has used too much of, if anything; it may have been killed for it."""
        allowed = self._limits.output_num_bytes
        for rank, files in enumerate(self._files):
            used = files.output_num_bytes()
            if used > allowed:
                return Excess("output", used, allowed, rank)
        told = self._server.excess()
        return None if told is None else Excess(told["kind"], told["used"], told["allowed"])

    def end(
        self,
        kind: EndKind,
        returned: Collection[int],
        *,
        excess: Excess | None = None,
        trace: Trace | None = None,
    ) -> End:
        """Return an end of this kind, with what the ranks have called so far."""
        ranks = tuple(RankEnd(has_returned=rank in returned) for rank in range(len(self._files)))
        return End(kind, ranks, self.trace() if trace is None else trace, excess=excess)

    def _stalled(self, returned: frozenset[int]) -> End | None:
        if len(returned) == len(self._files) or self.still_s(returned) < _STILL_S:
            return None
        began_s = time.monotonic()
        if began_s < self._examine_from_s:
            return None
        trace = self.trace()
        found = stalled_run(trace, returned, makes_progress=self._makes_progress)
        ended_s = time.monotonic()
        self._examine_from_s = ended_s + _PAUSE * (ended_s - began_s)
        # What we read while the ranks moved on would prove nothing.
        if found is None or self.still_s(returned) < _STILL_S:
            return None
        return self.end(EndKind.STALLED, returned, trace=trace)

    def out_of_time(self, returned: Collection[int], lasted: CaseTime, limit_s: float) -> End:
        """Return the end of a case whose time is up, with where each late rank is."""
        late = [rank for rank in range(len(self._files)) if rank not in returned]
        if late:
            self._have_stacks_dumped(late)
        end = self.end(EndKind.TIME_LIMIT, returned)
        folder = str(self._submission)
        places = {rank: self._files[rank].place(folder) for rank in late}
        ranks = (replace(each, place=places.get(rank)) for rank, each in enumerate(end.ranks))
        return replace(end, ranks=tuple(ranks), lasted=lasted, limit_s=limit_s)

    def _have_stacks_dumped(self, ranks: Sequence[int]) -> None:
        """Have these ranks write where they are; on a busy machine that may take a moment."""
        before = {rank: self._files[rank].stacks_num_bytes() for rank in ranks}
        self._server.dump_stacks(ranks)
        until_s = time.monotonic() + _STACK_LIMIT_S
        while time.monotonic() < until_s and any(
            self._files[rank].stacks_num_bytes() == size for rank, size in before.items()
        ):
            time.sleep(_STACK_DUMP_S)
        time.sleep(_STACK_DUMP_S)
