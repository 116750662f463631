"""A run that stands still: what every rank in it waits for, and whether that can still come."""

from collections.abc import Mapping
from dataclasses import dataclass

from grader.trace.calls import ANY_SOURCE, PROC_NULL, Call, Trace
from grader.trace.collectives import CollectiveMatches, is_collective
from grader.trace.matching import Matches, match
from grader.trace.wait_conditions import WaitCondition, needs_of

PROBES = frozenset({"Probe", "Mprobe", "Iprobe", "Improbe"})
_BUFFERED_SENDS = frozenset({"Bsend", "Ibsend"})


@dataclass(frozen=True)
class StalledRun:
    """What is known of a run in which every rank waits or is gone."""

    trace: Trace
    needs: Mapping[int, tuple[WaitCondition, ...]]
    """By waiting rank: what would let it go on, each by itself."""
    gone: frozenset[int]
    """Ranks that will make no further MPI call."""
    silent: frozenset[int]
    """Those of them in which no receive that was posted will take a message any more."""
    matches: Matches
    gatherings: CollectiveMatches

    def can_move(self) -> bool:
        """Return whether any rank may still go on."""
        return any(self.may_be_met(need) for needs in self.needs.values() for need in needs)

    def may_be_met(self, need: WaitCondition) -> bool:
        """Return whether what a rank waits for may still happen."""
        if not need.calls or not need.certain:
            return True
        each = (self.may_complete(need.rank, call) for call in need.calls)
        return all(each) if need.all_needed else any(each)

    def stuck_calls(self, rank: int) -> list[Call]:
        """Return what `rank` waits for and will not get."""
        return [
            call
            for need in self.needs[rank]
            for call in need.calls
            if not self.may_complete(rank, call)
        ]

    def all_stuck_calls(self) -> list[tuple[int, Call]]:
        """Return the same for every rank, with the rank."""
        return [(rank, call) for rank in sorted(self.needs) for call in self.stuck_calls(rank)]

    def may_complete(self, rank: int, call: Call) -> bool:
        """Return whether a send, receive, probe or collective of `rank` may come to its end.

        What the trace does not tell, or tells wrongly, may.
        """
        if call.cancelled or call.error or call.peer == PROC_NULL:
            return True
        if call.function == "Finalize":
            return not self.not_finalizing(rank)
        if is_collective(call):
            gathering = self.gatherings.of(rank, call)
            return gathering is None or gathering.is_complete
        if not (call.peer == ANY_SOURCE or 0 <= call.peer < len(self.trace.ranks)):
            return True
        receiver = call.peer if call.is_send else rank
        if (receiver, call.communicator) in self.matches.unclear:
            return True
        if call.function in PROBES:
            return bool(self.matches.found_by(rank, call))
        key = rank, call.sequence
        partners = self.matches.partners.get(key, [])
        if call.is_send:
            # The message of a rank that is gone has left; a receive needs its rank to take part.
            taken = key in self.matches.delivered or call.function in _BUFFERED_SENDS
            return taken or any(receive.rank not in self.silent for receive in partners)
        if call.is_receive and call.function not in ("Mrecv", "Imrecv"):
            return bool(partners)
        return True

    def not_finalizing(self, rank: int) -> frozenset[int]:
        """Return the ranks beside `rank` that are not in Finalize and have not left it."""
        return frozenset(
            other
            for other, seen in enumerate(self.trace.ranks)
            if other != rank
            and not seen.finalised
            and not any(need.call.function == "Finalize" for need in self.needs.get(other, ()))
        )

    def waits_for(self, rank: int) -> frozenset[int]:
        """Return the ranks without each of which `rank` cannot go on."""
        certain: list[frozenset[int]] = []
        for need in self.needs[rank]:
            stuck = [call for call in need.calls if not self.may_complete(rank, call)]
            targets = [self.targets(rank, call) for call in stuck]
            union = frozenset[int]().union(*targets)
            alternatives = len(set(targets)) > 1 and not need.all_needed
            certain.append(frozenset() if alternatives else union)
        return frozenset.intersection(*certain) if certain else frozenset()

    def targets(self, rank: int, call: Call) -> frozenset[int]:
        """Return the ranks that a call of `rank` waits for, as far as it names them."""
        if call.function == "Finalize":
            return self.not_finalizing(rank)
        if is_collective(call):
            gathering = self.gatherings.of(rank, call)
            return frozenset() if gathering is None else gathering.keeping_waiting(rank)
        return frozenset({call.peer} if call.peer >= 0 else ())


def stalled_run(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> StalledRun | None:
    """Return a run in which no rank will ever go on; None while any may.

    A rank may go on while it computes outside MPI, is in a call that waits for nobody, or waits
    for something that may still come: a message and a receive that fit by communicator, source
    and tag in MPI's order, a collective that all ranks of its communicator have entered. A send
    counts as waiting for its receive whether or not MPI might buffer it, and a collective as
    waiting for all its ranks: look only at a run that has stood still for a while. What the trace
    leaves open (a request it does not know, a rank that does not exist, calls that were lost) may
    always come, so that bad evidence never proves a hang.

    trace: all calls of every rank since the case began, in all phases.
    returned: ranks that have left the student's code and will make no MPI call any more.
    makes_progress: MPI goes on inside of those nevertheless, and serves what they have posted.
    """
    found = waiting_run(trace, returned, makes_progress=makes_progress)
    return None if found is None or found.can_move() else found


def waiting_run(
    trace: Trace, returned: frozenset[int] = frozenset(), *, makes_progress: bool = False
) -> StalledRun | None:
    """Return what every rank waits for; None where one does not wait, or nobody can tell."""
    ranks = trace.ranks
    finalised = {rank for rank, seen in enumerate(ranks) if seen.finalised}
    gone = frozenset(finalised | (returned & set(range(len(ranks)))))
    needs: dict[int, tuple[WaitCondition, ...]] = {}
    for rank, seen in enumerate(ranks):
        if seen.truncated or not seen.attached:
            return None
        if rank in gone:
            continue
        waiting = needs_of(rank, seen)
        if waiting is None:
            return None
        needs[rank] = waiting
    if not needs:
        return None
    silent = frozenset(finalised) if makes_progress else gone
    return StalledRun(trace, needs, gone, silent, match(trace), CollectiveMatches(trace))
