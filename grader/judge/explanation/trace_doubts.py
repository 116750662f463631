"""Why the calls of a case prove nothing: they contradict each other, MPI, gloo or the kernel."""

from grader.judge.explanation import gloo_check, loopback_check, trace_consistency
from grader.model.errors import GraderError
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import CaseObservation

_MAX_DOUBTS = 4


class TraceDoubts:
    """Looks at the cases of one launch, one after the other."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._in_flight = trace_consistency.InFlight()
        self._is_counted: list[bool] = []

    def of(self, case: CaseObservation) -> tuple[str, ...]:
        """Return why the calls of a case prove nothing, if there is a reason.

        Raises GraderError where MPI has never counted.
        """
        plan, ranks, trace = self._plan, case.ranks, case.trace
        before = [rank.counted_before for rank in ranks]
        after = [rank.counted_after for rank in ranks]
        # As it is before anything of the student's has run; a rank that says no later has lied.
        self._is_counted = self._is_counted or [each is not None for each in before]
        stopped = []
        for rank, seen in enumerate(trace.ranks):
            if not (plan.is_mpi and seen.attached and seen.initialised and after[rank] is None):
                continue
            if not self._is_counted[rank]:
                raise GraderError(
                    f"MPI does not count the messages of rank {rank}: without its monitoring "
                    "component (pml_monitoring), no message is proven"
                )
            stopped.append(f"MPI stopped counting the messages of rank {rank}")
        sent_or_received, self._in_flight = trace_consistency.disagreements(trace, self._in_flight)
        sent_by_gloo = [rank.sent_by_gloo for rank in ranks if rank.sent_by_gloo is not None]
        if plan.is_mpi:
            most_num_bytes = loopback_check.most_by_mpi(trace, starts=plan.standalone)
        else:
            most_num_bytes = loopback_check.most_by_gloo(trace)
        found = [
            *stopped,
            *trace_consistency.unrecorded([rank.num_nested for rank in ranks]),
            *trace_consistency.contradictions(trace, case.began_ns, case.read_ns),
            *sent_or_received,
            *gloo_check.unrecorded_payloads(trace, sent_by_gloo),
            *loopback_check.unexplained(trace, case.carried_num_bytes, most_num_bytes),
            *trace_consistency.miscounts(trace.of_phases(plan.student_phases), before, after),
        ]
        return tuple(found[:_MAX_DOUBTS])
