"""The MPI calls of a run, as the interposer saw them in each rank."""

from collections.abc import Collection
from dataclasses import dataclass, replace

ANY_SOURCE = -1
ANY_TAG = -1
PROC_NULL = -2
NO_PEER = -3
"""A call that has no peer: a wait, a collective without root."""


@dataclass(frozen=True, slots=True)
class Call:
    """One MPI call of one rank; times in nanoseconds of CLOCK_MONOTONIC.

    Calls that only ask or describe (Comm_rank, Type_size, Get_count, ...) leave no trace.
    """

    sequence: int
    """0, 1, 2, ... in this rank; never reused."""
    function: str
    """Without prefix: `Isend`, `Waitall`, `Allreduce`."""
    peer: int
    """World rank of destination, source or root; ANY_SOURCE, PROC_NULL or NO_PEER."""
    tag: int
    communicator: int
    """The same number on every rank of the communicator; 0 is COMM_WORLD, -1 none."""
    communicator_size: int
    """All processes of it; of an intercommunicator, those of both sides."""
    num_elements: int
    """Elements of the datatype as counted by the caller; -1 when the call has no count."""
    num_bytes: int
    """num_elements times the size of the datatype; -1 when the call has no count."""
    entered_ns: int
    left_ns: int
    """0 while the rank is still inside the call."""
    completed_ns: int
    """When the message this call posted was complete on this side (for a blocking call: when it
    returned; for a request: when a wait or test completed it); 0 if never."""
    is_send: bool
    is_receive: bool
    creates_request: bool
    """Isend, Irecv, a started persistent request, a non-blocking collective."""
    request_freed: bool
    """MPI_Request_free was called on the request before it completed."""
    cancelled: bool
    synchronous: bool
    """The send could not complete before its receive was posted (Ssend, or rendezvous mode)."""
    pickled: bool
    """The bytes sent began and ended like a pickle: a lower-case mpi4py call."""
    matched_source: int
    """World rank a completed receive got its message from; NO_PEER otherwise."""
    matched_tag: int
    received_num_bytes: int
    """What a completed receive really got; -1 otherwise."""
    failed_polls: int
    """How often in a row this Test or Probe came back empty (a run of failed polls is one call)."""
    waits_for: tuple[int, ...]
    """For waits, tests and Sendrecv halves: sequences of the calls whose requests are waited on,
    the first 256 of them."""
    phase: int
    """The level of the last MPI_Pcontrol: 1 inside the student's phase, 0 outside."""
    error: int
    """The MPI error code the call returned; 0 is success."""
    file: str
    """Python source file of the caller; empty if unknown."""
    line: int
    place: int = 0
    """Which instruction of the rank's Python code makes the call: equal for the same one."""
    made_by: str = ""
    """The lower-case call of mpi4py that makes this one, as a program writes it:
    `comm.allreduce`. Empty where the program may have made it itself."""


@dataclass(frozen=True)
class RankTrace:
    """What one rank called, and what it is doing now."""

    rank: int
    calls: tuple[Call, ...]
    attached: bool
    """The interposer really ran in this rank: magic, nonce and pid are in the header."""
    initialised: bool
    finalised: bool
    inside: int
    """Sequence of the call the rank is in at this moment; -1 when it is outside MPI, and when
    several of its threads use MPI, one of which may compute. Of a Sendrecv the receive half."""
    polling: bool
    """The last thing this rank did in MPI was a poll that came back empty."""
    progress: int
    """Counts calls that came back with a result; failed polls do not count."""
    num_failed_polls: int
    """All failed polls so far; grows while a rank spins."""
    truncated: bool
    """Calls were lost because the record memory was too small: nothing can be proven."""


@dataclass(frozen=True)
class Counted:
    """What MPI itself counted, below the functions a program calls, of one rank's messages."""

    num_messages: tuple[int, ...]
    """By the rank they were sent to; messages to oneself count, started persistent ones do not."""
    num_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """The calls of all ranks of a run, or of one case of it; index is the rank."""

    ranks: tuple[RankTrace, ...]
    doubts: tuple[str, ...] = ()
    """Why it can prove nothing: what contradicts itself, or what MPI itself has counted."""

    @property
    def num_calls(self) -> int:
        """Return how many calls all ranks together have made."""
        return sum(len(rank.calls) for rank in self.ranks)

    def of_phases(self, phases: Collection[int]) -> "Trace":
        """Return the trace with only the calls of these phases; 1 is the student's."""
        return replace(
            self,
            ranks=tuple(
                replace(rank, calls=tuple(call for call in rank.calls if call.phase in phases))
                for rank in self.ranks
            ),
        )
