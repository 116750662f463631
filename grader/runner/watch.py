"""Looks at a run from outside, a few times a second: does it still move, does it use too much?"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from grader.evidence import Evidence
from grader.judge.deadlock import find_deadlock
from grader.judge.unfinished import left_behind
from grader.judge.wording import name_of
from grader.model import RunFailure, Verdict
from grader.runner.case_time import CaseTime
from grader.runner.launch_plan import Limits
from grader.runner.rank_files import RankFiles
from grader.trace.calls import Trace

_STILL_S = 0.5
"""How long nothing may have moved before the run is examined for a deadlock."""
_PAUSE = 3
"""So many times as long as an examination took, no other one is made: a long trace takes long."""
_MANY_POLLS = 10
"""What a rank that does nothing but poll exceeds at once, also when it sleeps in between."""
_STACK_DUMP_S = 0.1
_STACK_LIMIT_S = 3.0


class Watched(Protocol):
    """What holds the processes of a run: a sandbox, or an open session."""

    @property
    def submission(self) -> Path:
        """Return the folder of the submission, as the ranks see it."""

    def excess(self) -> Mapping[str, Any] | None:
        """Return what the run used too much of: `kind`, `used`, `allowed`; None if nothing."""

    def dump_stacks(self, ranks: Sequence[int]) -> None:
        """Have these ranks, as far as they live, write where they are."""


class Watch:
    """The judge's eyes on one run."""

    def __init__(
        self,
        files: Sequence[RankFiles],
        sandbox: Watched,
        limits: Limits,
        *,
        makes_progress: bool,
    ) -> None:
        """makes_progress: MPI goes on inside of ranks that have returned."""
        self._files = files
        self._sandbox = sandbox
        self._limits = limits
        self._makes_progress = makes_progress
        self._submission = sandbox.submission
        self._first_sequences = [0] * len(files)
        self._seen: list[tuple[int, int, bool]] = []
        self._polls = [0] * len(files)
        """How often each rank had polled in vain when it was last seen moving."""
        self._still_since = time.monotonic()
        self._examine_from_s = 0.0
        """Before that, on the clock of `_still_since`, the run is not examined again."""

    def begin_case(self, first_sequences: Sequence[int] | None = None) -> None:
        """Remember where each rank's calls of the next case start: now, if they are left out."""
        now = [files.trace.snapshot().head for files in self._files]
        self._first_sequences = now if first_sequences is None else list(first_sequences)
        self._still_since = time.monotonic()
        self._examine_from_s = 0.0

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

    def look(self, returned: frozenset[int]) -> RunFailure | None:
        """Return what ends the run now, if anything does."""
        return self.excess() or self._deadlock(returned)

    def excess(self) -> RunFailure | None:
        """Return what the run has used too much of, if anything; it may have been killed for it."""
        for rank, files in enumerate(self._files):
            if files.output_num_bytes() > self._limits.output_num_bytes:
                return _too_much_output(f"rank {rank}", self._limits.output_num_bytes)
        told = self._sandbox.excess()
        return None if told is None else _failure_of(told, len(self._files))

    def _deadlock(self, returned: frozenset[int]) -> RunFailure | None:
        if len(returned) == len(self._files) or self.still_s(returned) < _STILL_S:
            return None
        began_s = time.monotonic()
        if began_s < self._examine_from_s:
            return None
        found = find_deadlock(self.trace(), returned, makes_progress=self._makes_progress)
        ended_s = time.monotonic()
        self._examine_from_s = ended_s + _PAUSE * (ended_s - began_s)
        # What we read while the ranks moved on would prove nothing.
        if found is None or self.still_s(returned) < _STILL_S:
            return None
        explanation, deadlock = found
        seen = Evidence("", len(self._files), deadlock=deadlock)
        return RunFailure(Verdict.DEADLOCK, explanation, evidence=seen)

    def out_of_time(self, returned: frozenset[int], lasted: CaseTime, limit_s: float) -> RunFailure:
        """Return the failure of a case whose time is up, saying where each late rank is."""
        late = [rank for rank in range(len(self._files)) if rank not in returned]
        if not late:
            return RunFailure(
                Verdict.TIME_LIMIT_EXCEEDED,
                f"{lasted.words(limit_s)}: the calls are said to have returned, but not all "
                "results had arrived by then",
            )
        self._have_stacks_dumped(late)
        places = []
        for rank in late[:4]:
            place = self._files[rank].place(str(self._submission))
            where = f" at {place[0]}:{place[1]}" if place else ""
            places.append(f"rank {rank} is still {self._doing(rank)}{where}")
        more = [f"so are {len(late) - 4} more"] if len(late) > 4 else []
        reason = "" if self._makes_progress else left_behind(self.trace(), returned)
        return RunFailure(
            Verdict.TIME_LIMIT_EXCEEDED,
            f"{lasted.words(limit_s)}: "
            f"{'; '.join(filter(None, [*places, *more, reason, lasted.machines_part(limit_s)]))}",
        )

    def _have_stacks_dumped(self, ranks: Sequence[int]) -> None:
        """Have these ranks write where they are; on a busy machine that may take a moment."""
        before = {rank: self._files[rank].stacks_num_bytes() for rank in ranks}
        self._sandbox.dump_stacks(ranks)
        until_s = time.monotonic() + _STACK_LIMIT_S
        while time.monotonic() < until_s and any(
            self._files[rank].stacks_num_bytes() == size for rank, size in before.items()
        ):
            time.sleep(_STACK_DUMP_S)
        time.sleep(_STACK_DUMP_S)

    def _doing(self, rank: int) -> str:
        """Return `in Recv`, or `computing` for a rank outside of all calls."""
        trace = self._files[rank].trace
        inside = trace.snapshot().inside
        call = next(iter(trace.read(inside).calls), None) if inside >= 0 else None
        return "computing" if inside < 0 else f"in {name_of(call) if call else 'MPI'}"


def _failure_of(excess: Mapping[str, Any], ranks: int) -> RunFailure:
    """Return the failure of a run that used too much of something, as the zygote tells it."""
    kind, used, allowed = excess["kind"], excess["used"], excess["allowed"]
    if kind == "memory":
        who = f"the {ranks} ranks together" if ranks > 1 else "the rank"
        return RunFailure(
            Verdict.MEMORY_LIMIT_EXCEEDED,
            f"{who} used {used >> 20} MiB of memory; {allowed >> 20} MiB are allowed",
        )
    if kind == "processes":
        return RunFailure(
            Verdict.RUN_TIME_ERROR,
            f"the submission started so many processes and threads that there were {used}; "
            f"{allowed} are allowed in all, so start fewer, or wait for those that are to end",
        )
    return _too_much_output("what the ranks started", allowed)


def _too_much_output(who: str, allowed_num_bytes: int) -> RunFailure:
    return RunFailure(
        Verdict.OUTPUT_LIMIT_EXCEEDED,
        f"{who} printed more than {allowed_num_bytes >> 20} MiB; remove the prints inside loops",
    )
