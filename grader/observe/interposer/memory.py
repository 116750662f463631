"""The judge's side of the memory that one rank's interposer writes its calls into.

Everything in it may have been written by a student: no field is believed without a bound, and no
content, however wrong, raises an exception. The rank may write while we read. Records are copied
first and then kept only if they cannot have been overwritten meanwhile.
"""

import fcntl
import math
import mmap
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.model.errors import GraderError
from grader.model.report import MessageFault
from grader.observe.interposer.records import Copy, calls_of, printable
from grader.trace import layout
from grader.trace.calls import Counted, RankTrace

_WORD_NUM_BYTES = 8
_WORD = {name: index for index, name in enumerate(layout.HEADER_WORDS)}
_MAX_REFUSAL_NUM_BYTES = 300


@dataclass(frozen=True)
class Snapshot:
    """What a rank is doing at this moment, without its calls; the fields are as in RankTrace."""

    rank: int
    pid: int
    """The process that says it writes here; to be compared with the one on the socket."""
    attached: bool
    initialised: bool
    finalised: bool
    head: int
    """Calls so far: the sequence that the next one will get."""
    inside: int
    polling: bool
    progress: int
    num_failed_polls: int


class TraceMemory:
    """Shared memory of one rank, which nobody can shrink or grow. Use as a context manager."""

    def __init__(self, fd: int, num_records: int) -> None:
        """fd: of the size that `create` gives it, and owned by this object from now on."""
        self.fd = fd
        self._num_records = num_records
        self._map = mmap.mmap(fd, _num_bytes(num_records))
        self._words = memoryview(self._map)[: layout.HEADER_NUM_BYTES].cast("Q")
        self._nonce = self._word("nonce")

    @classmethod
    def create(cls, num_records: int = 1 << 16) -> "TraceMemory":
        """Make a sealed memory for the last num_records calls (a power of two) of a rank.

        Memory is taken from the machine only as calls are made, 192 bytes each. Raises
        GraderError where the system has no sealed memory.
        """
        if num_records < 1 or num_records & (num_records - 1):
            raise ValueError(f"num_records is {num_records}, which is not a power of two")
        try:
            fd = os.memfd_create("grader-trace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, _num_bytes(num_records))
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        except (AttributeError, OSError) as error:
            raise GraderError(
                f"watching MPI calls needs sealed memory, which only Linux has ({error})"
            ) from None
        memory = cls(fd, num_records)
        memory._set("nonce", secrets.randbits(64))
        memory._nonce = memory._word("nonce")
        memory._set("num_records", num_records)
        memory._set("num_waits", num_records * layout.WAITS_PER_RECORD)
        memory._set("num_name_bytes", layout.NAMES_NUM_BYTES)
        memory._set("judge_magic", layout.JUDGE_MAGIC)
        return memory

    def set_synchronous_sends(self, synchronous: bool) -> None:
        """Let every standard-mode send from now on wait for its receive, or no longer."""
        self._set("synchronous_sends", int(synchronous))

    def alter(self, fault: MessageFault) -> None:
        """Let what the fault names leave the student's phase with one element changed."""
        self.alter_nothing()
        self._set("altered_min_num_bytes", max(fault.min_num_bytes, 1))
        self._set("altered_position", min(int(fault.position * 2**64), 2**64 - 1))
        numbers = {layout.GLOO_OPERATIONS.index(each) for each in fault.operations}
        self._set("altered_operations", sum(1 << number for number in numbers))
        end = 2**64 - 1 if fault.number is None else fault.number + fault.num_messages
        self._set("altered_first", fault.number or 0)
        self._set("altered_end", end)
        kind = layout.ALTER_CONTRIBUTIONS if fault.of_collectives else layout.ALTER_SENDS
        self._set("altered_kind", kind)

    def alter_nothing(self) -> None:
        """Let all messages leave as they are, and count altered ones from 0 again."""
        self._set("altered_kind", layout.ALTER_NOTHING)
        for name in ("num_counted", "num_altered"):
            self._set(name, 0)

    def num_altered(self) -> int:
        """Return how many messages have left altered since that was ordered."""
        return self._word("num_altered")

    def snapshot(self) -> Snapshot:
        """Return what the rank is doing now; cheap enough to be called all the time."""
        inside = self._word("inside") - 1  # before num_published, which may have grown since
        published = self._word("num_published")
        # With several threads one of them may compute while another waits: that is no deadlock.
        alone = self._word("num_threads") <= 1
        attached = (
            self._word("rank_magic") == layout.RANK_MAGIC
            and self._word("abi_version") == layout.ABI_VERSION
            and self._word("echoed_nonce") == self._nonce
        )
        rank = _signed(self._word("world_rank")) if attached else -1
        return Snapshot(
            rank=rank if rank < 1 << 31 else -1,
            pid=self._word("pid"),
            attached=attached,
            initialised=self._word("initialised") == 1,
            finalised=self._word("finalised") == 1,
            head=published,
            inside=inside if alone and inside < published else -1,
            polling=alone and self._word("polling") == 1,
            progress=self._word("progress"),
            num_failed_polls=self._word("num_failed_polls"),
        )

    def read(self, since_sequence: int = 0) -> RankTrace:
        """Return the calls from since_sequence on, and what the rank was doing when we began.

        `truncated` says that some of these calls had been overwritten.
        """
        snapshot = self.snapshot()
        calls, lost = calls_of(self._copy(since_sequence, snapshot.head))
        return RankTrace(
            rank=snapshot.rank,
            calls=calls,
            attached=snapshot.attached,
            initialised=snapshot.initialised,
            finalised=snapshot.finalised,
            inside=snapshot.inside,
            polling=snapshot.polling,
            progress=snapshot.progress,
            num_failed_polls=snapshot.num_failed_polls,
            truncated=lost,
        )

    def counted(self, phases: Sequence[int]) -> Counted | None:
        """Return what MPI itself has counted in these phases (0: outside, 1: the student's).

        None where it does not count. Up to date after the last phase mark.
        """
        if self._word("is_monitored") != 1:
            return None
        size = min(max(_signed(self._word("world_size")), 0), layout.MAX_COUNTED_PEERS)
        shape = (layout.NUM_COUNTED_PHASES, layout.MAX_COUNTED_PEERS, 2)
        copied = self._map[layout.COUNTERS_AT : layout.COUNTERS_AT + 8 * math.prod(shape)]
        counters = np.frombuffer(copied, "<u8").reshape(shape)
        # Python's own numbers do not overflow, whatever is written there.
        rows = counters[list(phases), :size].astype(object).sum(axis=0)
        return Counted(
            num_messages=tuple(int(messages) for messages, _ in rows),
            num_bytes=tuple(int(num_bytes) for _, num_bytes in rows),
        )

    def num_nested(self) -> int:
        """Return how many calls were made by functions that MPI itself had called: no records."""
        return self._word("num_nested")

    def num_beside_calls(self) -> int:
        """Return how many messages MPI has sent for itself, such as a collective's, in no call."""
        return self._word("num_beside_calls")

    def refusal(self) -> str:
        """Return what the guard refused first, as `ring.py:12 opens a C library`; else nothing."""
        number_end = layout.REFUSAL_AT + _WORD_NUM_BYTES
        if not any(self._map[layout.REFUSAL_AT : number_end]):
            return ""
        return printable(self._map[number_end : number_end + _MAX_REFUSAL_NUM_BYTES])

    def _copy(self, since_sequence: int, head: int) -> Copy:
        """Copy the wanted records, then note how far the rank has come in the meantime."""
        names = layout.HEADER_NUM_BYTES
        waits = names + layout.NAMES_NUM_BYTES
        num_waits = self._num_records * layout.WAITS_PER_RECORD
        records = waits + num_waits * _WORD_NUM_BYTES
        item = layout.RECORD.itemsize
        overwritten = records + self._num_records * item
        first = max(since_sequence, head - self._num_records, 0)
        start, stop = first % self._num_records, head % self._num_records
        if first >= head:
            copied = b""
        elif start < stop:
            copied = self._map[records + start * item : records + stop * item]
        else:
            copied = self._map[records + start * item : overwritten]
            copied += self._map[records : records + stop * item]
        # What a copied record refers to was there before it, and is below these two by now.
        waits_reserved = self._word("num_waits_reserved")
        waits_end = waits + min(waits_reserved, num_waits) * _WORD_NUM_BYTES
        names_end = names + min(self._word("num_name_bytes_used"), layout.NAMES_NUM_BYTES)
        copied_waits = self._map[waits:waits_end]
        copied_names = self._map[names:names_end]
        oldest = self._word("num_reserved") - self._num_records
        return Copy(
            wanted=max(since_sequence, 0),
            first=first,
            head=head,
            num_waits=num_waits,
            waits_reserved=waits_reserved,
            oldest=oldest,
            oldest_wait=self._word("num_waits_reserved") - num_waits,
            records=copied,
            overwritten=self._map[overwritten:] if max(first, oldest) > since_sequence else b"",
            waits=copied_waits,
            names=copied_names,
        )

    def close(self) -> None:
        """Give the memory back; what a rank still has mapped stays its own."""
        self._words.release()
        self._map.close()
        os.close(self.fd)

    def __enter__(self) -> "TraceMemory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _word(self, name: str) -> int:
        return self._words[_WORD[name]]

    def _set(self, name: str, value: int) -> None:
        self._words[_WORD[name]] = value


def _num_bytes(num_records: int) -> int:
    waits = num_records * layout.WAITS_PER_RECORD * _WORD_NUM_BYTES
    num_records += layout.NAMES_NUM_BYTES // layout.NAME_NUM_BYTES
    records = num_records * layout.RECORD.itemsize
    return layout.HEADER_NUM_BYTES + layout.NAMES_NUM_BYTES + waits + records


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
