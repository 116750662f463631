"""Compares evidence about a run: calls that ranks recorded, MPI's own counts, and the kernel's."""

import time
from collections.abc import Callable, Sequence

from grader.errors import GraderError
from grader.judge import cross_check, kernel_count, payload_count
from grader.runner.rank_files import RankFiles
from grader.trace.calls import Counted, Trace
from grader.trace.sent_by_gloo import SentByGloo

_MAX_DOUBTS = 4


class CrossCheck:
    """Compares, case by case, what is known of the messages of a run."""

    def __init__(
        self,
        files: Sequence[RankFiles],
        carried_num_bytes: Callable[[], int | None],
        *,
        phases: Sequence[int],
        is_mpi: bool,
        starts_mpi: bool = False,
    ) -> None:
        """carried_num_bytes: returns what the kernel has carried between ranks, None for unknown.

        phases: those of the calls that rules count. is_mpi: MPI has to count messages itself.
        starts_mpi: a program does so within its case.
        """
        self._files = files
        self._carried_num_bytes = carried_num_bytes
        self._carried_before: int | None = None
        self._sent_before: list[SentByGloo] = []
        self._phases = phases
        self._is_mpi = is_mpi
        self._starts_mpi = starts_mpi
        self._in_flight = cross_check.InFlight()
        self._before: list[Counted | None] = []
        self._is_counted: list[bool] = []
        self._nested = [0] * len(files)
        self._began_ns = 0

    def begin_case(self) -> None:
        """Note what there is before the calls of a case."""
        self._began_ns = time.monotonic_ns()
        self._before = self._counted()
        # As it is before anything of the student's has run; a rank that says no later has lied.
        self._is_counted = self._is_counted or [each is not None for each in self._before]
        self._nested = [each.trace.num_nested() for each in self._files]
        self._carried_before = self._carried_num_bytes()
        self._sent_before = self._sent()

    def doubts(self, trace: Trace) -> tuple[str, ...]:
        """Return why the calls of a case prove nothing, if there is a reason.

        trace: all calls since `begin_case`, read after the last of them. Raises GraderError where
        MPI has never counted.
        """
        read_ns = time.monotonic_ns()
        after = self._counted()
        stopped = []
        for rank, seen in enumerate(trace.ranks):
            if not (self._is_mpi and seen.attached and seen.initialised and after[rank] is None):
                continue
            if not self._is_counted[rank]:
                raise GraderError(
                    f"MPI does not count the messages of rank {rank}: its monitoring component "
                    "(pml_monitoring) is missing, without which no message is proven"
                )
            stopped.append(f"MPI counted the messages of rank {rank}, and then no longer")
        sent_or_received, self._in_flight = cross_check.disagreements(trace, self._in_flight)
        nested = [
            files.trace.num_nested() - before
            for files, before in zip(self._files, self._nested, strict=True)
        ]
        found = [
            *stopped,
            *cross_check.unrecorded(nested),
            *cross_check.contradictions(trace, self._began_ns, read_ns),
            *sent_or_received,
            *payload_count.unrecorded_payloads(trace, self._sent_since()),
            *kernel_count.unexplained(trace, self._carried(), self._most_num_bytes(trace)),
            *cross_check.miscounts(trace.of_phases(self._phases), self._before, after),
        ]
        return tuple(found[:_MAX_DOUBTS])

    def _most_num_bytes(self, trace: Trace) -> int:
        if self._is_mpi:
            return kernel_count.most_by_mpi(trace, starts=self._starts_mpi)
        return kernel_count.most_by_gloo(trace)

    def _carried(self) -> int | None:
        """Return how many bytes the kernel has carried since the case began."""
        before, now = self._carried_before, self._carried_num_bytes()
        return None if before is None or now is None else now - before

    def _sent(self) -> list[SentByGloo]:
        """Return what gloo has sent for each rank so far; nothing for ranks of MPI."""
        if self._is_mpi:
            return []
        return [each.gloo.sent() for each in self._files if each.gloo is not None]

    def _sent_since(self) -> list[SentByGloo]:
        """Return the same of this case."""
        both = zip(self._sent(), self._sent_before, strict=True)
        return [now.since(before) for now, before in both]

    def _counted(self) -> list[Counted | None]:
        # A standalone program initialises MPI within the case: before, it counted nothing.
        nothing = Counted((), ())
        counted = [each.trace.counted(self._phases) for each in self._files]
        if not self._is_mpi:
            return [None] * len(counted)
        return [
            nothing if each is None and not files.trace.snapshot().initialised else each
            for each, files in zip(counted, self._files, strict=True)
        ]
