"""Builds calls, traces and outcomes, as ranks would leave them behind."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.grading_plugin.case import Case
from grader.judge.deadlock.deadlock_report import find_deadlock
from grader.model.report import Outcome
from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, Call, RankTrace, Trace
from grader.trace.packed_records import RECORD

ITEM_NUM_BYTES = 8
NO_CALLS = Trace(())


def as_recorded(field: str, number: int) -> int:
    """Return the number that is nearest to this one of those that a record can hold."""
    limits = np.iinfo(RECORD[field])
    return int(min(max(number, limits.min), limits.max))


def explain_deadlock(trace, returned=frozenset(), *, makes_progress=False):
    """Return the sentence alone of find_deadlock."""
    found = find_deadlock(trace, returned, makes_progress=makes_progress)
    return None if found is None else found[0]


def samples_of_bytes(raw: bytes, random: np.random.Generator) -> dict[str, int]:
    """Return the fields of a call that hold samples: of thirds, without zeros at the ends."""
    words = np.frombuffer(raw[len(raw) % 8 :], "<i8") if len(raw) >= 8 else np.zeros(0, "<i8")
    if not len(words):
        return {"sample_first": int.from_bytes(raw, "little"), "sampled_num_bytes": len(raw)}
    places = np.flatnonzero(words)
    kept = words[places[0] : places[-1] + 1] if len(places) else words[:1]
    limits = [len(kept) * third // 3 for third in range(4)]
    drawn = [
        int(kept[random.integers(begin, max(end, begin + 1))])
        for begin, end in itertools.pairwise(limits)
    ]
    names = ("sample_first", "sample_middle", "sample_last")
    num_bytes = len(raw) - 8 * (len(words) - len(kept))
    return {**dict(zip(names, drawn, strict=True)), "sampled_num_bytes": num_bytes}


def call(function: str, **fields: Any) -> Call:
    """Return a call that was completed in the student's phase; its name says what it posts."""
    name = function.lower()
    values = {"sequence": 0, "function": function, "tag": 0, "matched_tag": 0, "line": 1}
    values |= {"communicator": 0, "communicator_size": -1}
    values |= {"entered_ns": 1, "left_ns": 2, "completed_ns": 2}
    values |= {"is_send": name in ("send", "isend"), "is_receive": name in ("recv", "irecv")}
    values |= {"creates_request": name.startswith("i")}
    return Call(**{**_NOTHING, **values, **fields})


def trace_of(calls_by_rank: Iterable[Sequence[Call]]) -> Trace:
    """Return the complete trace of ranks that made these calls."""
    return Trace(
        tuple(
            RankTrace(
                **{**_IDLE, "progress": len(calls)},
                rank=rank,
                calls=tuple(replace(each, sequence=i) for i, each in enumerate(calls)),
            )
            for rank, calls in enumerate(calls_by_rank)
        )
    )


def outcome(
    case: Case, inputs: Sequence[Mapping[str, Any]], results: Sequence[Any], trace: Trace = NO_CALLS
) -> Outcome:
    """Return the outcome of a case whose ranks returned `results`."""
    return Outcome(case.label, len(inputs), tuple(inputs), tuple(results), trace, 0.0)


class Run:
    """A run of `num_ranks` ranks; every method that adds a call returns its sequence."""

    def __init__(self, num_ranks: int, *, communicator: int = 0) -> None:
        self._num_ranks = num_ranks
        self._communicator = communicator
        self._clock_ns = 0
        self._calls: list[list[Call]] = [[] for _ in range(num_ranks)]
        self._state: list[dict[str, Any]] = [{} for _ in range(num_ranks)]

    # Any call ------------------------------------------------------------------------------

    def call(self, rank: int, function: str, **fields: Any) -> int:
        """Add a call that has returned."""
        self._clock_ns += 10
        line = 10 * (len(self._calls[rank]) + 1)
        values = {"sequence": len(self._calls[rank]), "function": function, "line": line}
        values |= {"entered_ns": self._clock_ns, "left_ns": self._clock_ns + 1}
        values |= {"communicator": self._communicator, "communicator_size": self._num_ranks}
        self._calls[rank].append(Call(**{**_NOTHING, **values, **fields}))
        return len(self._calls[rank]) - 1

    def enter(self, rank: int, function: str, **fields: Any) -> int:
        """Add a call that the rank is still in."""
        sequence = self.call(rank, function, **{"left_ns": 0, **fields})
        self._state[rank]["inside"] = sequence
        return sequence

    def change(self, rank: int, sequence: int, **fields: Any) -> int:
        """Change what is recorded of an earlier call."""
        self._calls[rank][sequence] = replace(self._calls[rank][sequence], **fields)
        return sequence

    def pause(self) -> tuple[int, int]:
        """Let time pass; return when it began and ended."""
        began_ns, self._clock_ns = self._clock_ns + 5, self._clock_ns + 15
        return began_ns, self._clock_ns

    # Messages ------------------------------------------------------------------------------

    def send(
        self, rank: int, to: int, tag: int = 0, *, num_elements: int = 1, **fields: Any
    ) -> int:
        """Add a blocking send that has returned: its message may still be on its way."""
        message = _message(to, tag, num_elements) | {"is_send": True, "completed_ns": 1}
        return self.call(rank, fields.pop("function", "Send"), **{**message, **fields})

    def isend(
        self, rank: int, to: int, tag: int = 0, *, num_elements: int = 1, **fields: Any
    ) -> int:
        """Add a non-blocking send that no wait has completed."""
        message = _message(to, tag, num_elements) | {"is_send": True, "creates_request": True}
        return self.call(rank, fields.pop("function", "Isend"), **{**message, **fields})

    def irecv(self, rank: int, source: int = ANY_SOURCE, tag: int = ANY_TAG, **fields: Any) -> int:
        """Add a non-blocking receive that no wait has completed."""
        message = _message(source, tag, 1) | {"is_receive": True, "creates_request": True}
        return self.call(rank, fields.pop("function", "Irecv"), **{**message, **fields})

    def recv(self, rank: int, source: int, tag: int = 0, **fields: Any) -> int:
        """Add a receive that got a message from `source`."""
        message = _message(source, tag, 1) | {"is_receive": True}
        sequence = self.call(rank, fields.pop("function", "Recv"), **{**message, **fields})
        return self.complete(rank, sequence, source, tag)

    def enter_send(self, rank: int, to: int, tag: int = 0, **fields: Any) -> int:
        """Add a blocking send that the rank is still in."""
        message = _message(to, tag, 1) | {"is_send": True}
        return self.enter(rank, fields.pop("function", "Send"), **{**message, **fields})

    def enter_recv(
        self, rank: int, source: int = ANY_SOURCE, tag: int = ANY_TAG, **fields: Any
    ) -> int:
        """Add a blocking receive that the rank is still in."""
        message = _message(source, tag, 1) | {"is_receive": True}
        return self.enter(rank, fields.pop("function", "Recv"), **{**message, **fields})

    def enter_probe(
        self, rank: int, source: int = ANY_SOURCE, tag: int = ANY_TAG, function: str = "Probe"
    ) -> int:
        """Add a blocking probe that the rank is still in."""
        return self.enter(rank, function, peer=source, tag=tag)

    def enter_sendrecv(self, rank: int, to: int, source: int, tag: int = 0) -> int:
        """Add both halves of an exchange that the rank is still in; returns the send's."""
        first = len(self._calls[rank])
        halves = (first, first + 1)
        self.enter(rank, "Sendrecv", **_message(to, tag, 1), is_send=True, waits_for=halves)
        message = _message(source, tag, 1)
        self.call(rank, "Sendrecv", **message, is_receive=True, waits_for=halves, left_ns=0)
        return first

    # What becomes of requests --------------------------------------------------------------

    def complete(self, rank: int, sequence: int, source: int = NO_PEER, tag: int = ANY_TAG) -> int:
        """Note that a message posted earlier is complete, and where it came from."""
        self._clock_ns += 10
        return self.change(
            rank, sequence, completed_ns=self._clock_ns, matched_source=source, matched_tag=tag
        )

    def wait(self, rank: int, *sequences: int, function: str = "Waitall") -> int:
        """Add a wait that has returned and completed its requests, which are sends."""
        for sequence in sequences:
            self.complete(rank, sequence)
        return self.call(rank, function, waits_for=sequences)

    def enter_wait(self, rank: int, *sequences: int, function: str = "Waitall") -> int:
        """Add a wait that the rank is still in."""
        return self.enter(rank, function, waits_for=sequences)

    def poll(self, rank: int, *sequences: int, function: str = "Test", **fields: Any) -> int:
        """Add a poll that has come back empty many times, and is what the rank does now."""
        self._state[rank] = {"inside": -1, "polling": True}
        values = {"waits_for": sequences, "failed_polls": 1000}
        return self.call(rank, function, **{**values, **fields})

    # Ranks ---------------------------------------------------------------------------------

    def state(self, rank: int, **fields: Any) -> None:
        """Set fields of the rank's trace, such as `finalised`."""
        self._state[rank] |= fields

    def trace(self) -> Trace:
        """Return the trace of what was added so far."""
        return Trace(
            tuple(
                RankTrace(**{**_IDLE, "rank": rank, "calls": tuple(calls), **state})
                for rank, (calls, state) in enumerate(zip(self._calls, self._state, strict=True))
            )
        )


def _message(peer: int, tag: int, num_elements: int) -> dict[str, Any]:
    num_bytes = num_elements * ITEM_NUM_BYTES
    return {"peer": peer, "tag": tag, "num_elements": num_elements, "num_bytes": num_bytes}


_NOTHING = {
    "peer": NO_PEER,
    "tag": ANY_TAG,
    "num_elements": -1,
    "num_bytes": -1,
    "completed_ns": 0,
    "is_send": False,
    "is_receive": False,
    "creates_request": False,
    "request_freed": False,
    "cancelled": False,
    "synchronous": False,
    "pickled": False,
    "matched_source": NO_PEER,
    "matched_tag": ANY_TAG,
    "received_num_bytes": -1,
    "failed_polls": 0,
    "waits_for": (),
    "phase": 1,
    "error": 0,
    "file": "/somewhere/submission/ring.py",
}

_IDLE = {
    "attached": True,
    "initialised": True,
    "finalised": False,
    "inside": -1,
    "polling": False,
    "progress": 0,
    "num_failed_polls": 0,
    "truncated": False,
}
