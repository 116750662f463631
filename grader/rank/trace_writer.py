"""Writes calls that no MPI library makes into the trace memory, in the interposer's own form.

The judge says where everything lies; its reader believes nothing that is written here.
"""

import mmap
import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

NO_PEER = -3


class TraceWriter:
    """The trace memory of this rank."""

    def __init__(self, fd: int, layout: Mapping[str, Any], rank: int, size: int) -> None:
        """layout: what the judge's grader.trace.layout.described() says."""
        self._memory = mmap.mmap(fd, 0)
        self._word = {name: i for i, name in enumerate(layout["header_words"])}
        self._words = np.frombuffer(self._memory, "<u8", len(self._word))
        num_records, num_waits = self._get("num_records"), self._get("num_waits")
        self._names_at = layout["header_num_bytes"]
        waits_at = self._names_at + self._get("num_name_bytes")
        self._waits = np.frombuffer(self._memory, "<u8", num_waits, waits_at)
        record = np.dtype([(name, form) for name, form in layout["record"]])
        records_at = waits_at + 8 * num_waits
        self._records = np.frombuffer(self._memory, record, num_records, records_at)
        self._name_num_bytes = layout["name_num_bytes"]
        self._overwritten = np.frombuffer(
            self._memory,
            record,
            self._get("num_name_bytes") // self._name_num_bytes,
            records_at + num_records * record.itemsize,
        )
        self._names: dict[str, int] = {"": 0}
        self._flags: Mapping[str, int] = layout["flags"]
        self._lock = threading.Lock()
        for name, value in (
            ("num_name_bytes_used", 1),
            ("pid", os.getpid()),
            ("world_rank", rank),
            ("world_size", size),
            ("num_threads", 1),
            ("abi_version", layout["abi_version"]),
            ("echoed_nonce", self._get("nonce")),
            ("initialised", 1),
            ("rank_magic", layout["rank_magic"]),
        ):
            self._set(name, value)

    def add(
        self,
        function: str,
        place: tuple[str, int],
        *,
        fields: Mapping[str, int],
        flags: Iterable[str] = (),
        waits_for: Iterable[int] = (),
    ) -> int:
        """Write one call; return its sequence. Fields that are not given stand for `none`."""
        with self._lock:
            sequence = self._get("num_reserved")
            record = self._records[sequence % len(self._records)]
            if sequence >= len(self._records) and record["phase"] == 1:
                self._overwritten[int(record["function"]) // self._name_num_bytes] = record
            self._set("num_reserved", sequence + 1)
            record["stamp"] = 0
            for name in self._records.dtype.names or ():
                record[name] = 0
            first_wait, num_waits = self._add_waits(list(waits_for))
            values = {
                **dict.fromkeys(("num_elements", "num_bytes", "received_num_bytes"), -1),
                **dict.fromkeys(("peer", "matched_source"), NO_PEER),
                "communicator": -1,
                "entered_ns": now_ns(),
                **fields,
                "first_wait": first_wait,
                "num_waits": num_waits,
                "function": self._name(function),
                "file": self._name(place[0]),
                "line": place[1],
                "flags": sum(self._flags[flag] for flag in flags),
            }
            for name, value in values.items():
                record[name] = value
            record["stamp"] = sequence + 1
            self._set("num_published", sequence + 1)
            return sequence

    def change(self, sequence: int, *, without: str = "", **fields: int) -> None:
        """Write what has become known of a call; without: a flag that does not hold any more."""
        record = self._records[sequence % len(self._records)]
        if record["stamp"] != sequence + 1:
            return
        for name, value in fields.items():
            record[name] = value
        if without:
            record["flags"] &= ~np.uint32(self._flags[without])

    def enter(self, sequence: int) -> None:
        """Tell that the rank is inside this call."""
        self._set("polling", 0)
        self._set("inside", sequence + 1)

    def leave(self) -> None:
        """Tell that it has left the call, and that something has come of it."""
        self._set("progress", self._get("progress") + 1)
        self._set("polling", 0)
        self._set("inside", 0)

    def poll_failed(self) -> None:
        """Tell that the rank has asked in vain."""
        self._set("num_failed_polls", self._get("num_failed_polls") + 1)
        self._set("polling", 1)

    def mark_phase(self, level: int) -> None:
        """Tell which phase begins, for what looks at the bytes that are sent."""
        self._set("torch_phase", level)

    def count_threads(self, more: int) -> None:
        """Tell how many threads there are; of several, one may compute while another waits."""
        with self._lock:
            self._set("num_threads", self._get("num_threads") + more)

    def _add_waits(self, sequences: list[int]) -> tuple[int, int]:
        first = self._get("num_waits_reserved")
        self._set("num_waits_reserved", first + len(sequences))
        for offset, sequence in enumerate(sequences):
            self._waits[(first + offset) % len(self._waits)] = sequence
        return first, len(sequences)

    def _name(self, name: str) -> int:
        """Return where a name lies in the memory; 0, the empty name, when there is no room."""
        if name not in self._names:
            raw = os.fsencode(name) + b"\0"
            used = self._get("num_name_bytes_used")
            if used + len(raw) > self._get("num_name_bytes"):
                return 0
            at = self._names_at + used
            self._memory[at : at + len(raw)] = raw
            self._set("num_name_bytes_used", used + len(raw))
            self._names[name] = used
        return self._names[name]

    def _get(self, name: str) -> int:
        return int(self._words[self._word[name]])

    def _set(self, name: str, value: int) -> None:
        self._words[self._word[name]] = value


def now_ns() -> int:
    """Return the time on the clock that all traces use."""
    return time.monotonic_ns()
