"""Plans of two ranks, and what might be seen of them: built without any rank."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.model.report import Array, Text
from grader.recording.launch_plan import CaseCall, LaunchPlan
from grader.recording.observation import (
    CaseObservation,
    CaseTime,
    End,
    EndKind,
    Excess,
    LaunchObservation,
    RankCase,
    RankEnd,
)
from grader.trace.calls import NO_PEER, Call, Counted, RankTrace, Trace
from grader.trace.packed_records import BITS
from grader.trace.sent_by_gloo import GlooSamples, SentByGloo

RANKS = 2


def plan(backend: str = "mpi", num_cases: int = 2) -> LaunchPlan:
    form = {"sum": Array("<f8", (3,)), "said": Text()}
    case = CaseCall("length 3", "f", False, ({"data": np.ones(3)},) * RANKS, (form,) * RANKS)
    return LaunchPlan(
        ranks=RANKS,
        cases=tuple(replace(case, label=f"case {number}") for number in range(num_cases)),
        probes={"__init__": ""},
        backend=backend,
        standalone=False,
        entry="ring(comm, data)",
        submission={"ring.py": b"import pandas\n"},
        support={},
    )


def exchanged() -> Trace:
    """Return the calls of two ranks that have sent each other a message."""
    file = "/dev/shm/x/submission/ring.py"
    return _trace(
        [
            _call(0, "Send", peer=1 - rank, is_send=True, num_bytes=24, file=file),
            _call(1, "Irecv", peer=1 - rank, is_receive=True, creates_request=True),
            _call(2, "Waitall", waits_for=(1, 1)),
        ]
        for rank in range(RANKS)
    )


def stuck() -> Trace:
    """Return the calls of two ranks that wait for each other."""
    return _trace(
        ([_call(0, "Recv", peer=1 - rank, is_receive=True, left_ns=0)] for rank in range(RANKS)),
        inside=0,
    )


def _trace(calls: Iterable[list[Call]], inside: int = -1) -> Trace:
    ranks = (
        replace(RankTrace.unseen(rank), calls=made, attached=True, initialised=True, inside=inside)
        for rank, made in enumerate(calls)
    )
    return Trace(tuple(ranks))


def _call(sequence: int, function: str, **fields: Any) -> Call:
    entered_ns = 10 * sequence + 10
    nothing = {name: False for name in BITS}
    numbers = {"num_elements": 3, "num_bytes": -1, "received_num_bytes": -1, "failed_polls": 0}
    known = {
        **nothing,
        **numbers,
        **{"peer": NO_PEER, "tag": 0, "communicator": 0, "communicator_size": RANKS},
        **{"entered_ns": entered_ns, "left_ns": entered_ns + 1, "completed_ns": 0},
        **{"matched_source": NO_PEER, "matched_tag": -1, "waits_for": (), "phase": 1, "error": 0},
        **{"file": "", "line": 3},
    }
    return Call(sequence, function, **{**known, **fields})


def answered(trace: Trace | None = None, *, is_mpi: bool = True) -> CaseObservation:
    counted = Counted((1, 2**64), (8, 0)) if is_mpi else None
    samples = GlooSamples(8, np.ones((64, 64), "u1"))
    values = {"texts": {"said": "\ud800 done"}, "remarks": [["import", "pandas", "ring.py", 1]]}
    ranks = tuple(
        RankCase(
            values=values,
            arrays={"sum": np.arange(3.0) + seen.rank, "ones": np.ones((500, 2))},
            trace=seen,
            counted_before=counted,
            counted_after=counted,
            num_nested=0,
            sent_by_gloo=None if is_mpi else SentByGloo(24, 0, {"message": samples}),
        )
        for seen in (trace or exchanged()).ranks
    )
    return CaseObservation(ranks, began_ns=5, read_ns=10**6, lasted=CaseTime(0.5, 0.1))


def observations() -> dict[str, LaunchObservation]:
    """Return one observation for each way in which a launch ends."""
    tails, nothing = ("", "the last line"), ("", "")
    trouble = (
        RankEnd(
            said="problem",
            values={"type": "ValueError", "message": "no", "file": "ring.py", "line": 3},
            place=("ring.py", 3),
        ),
        RankEnd(said="closed", exit_status=139, signal="SIGSEGV", dumped_a_crash=True),
    )
    late = (RankEnd(), RankEnd(has_returned=True))
    ends = {
        "stalled": End(EndKind.STALLED, (RankEnd(),) * RANKS, stuck(), began_ns=1),
        "trouble": End(EndKind.TROUBLE, trouble, exchanged(), began_ns=1),
        "excess": End(EndKind.EXCESS, late, stuck(), 1, excess=Excess("memory", 9 << 30, 1 << 30)),
        "time limit": End(EndKind.TIME_LIMIT, late, stuck(), 1, CaseTime(11.0, 0.2), 10.0),
        "between two cases": End(EndKind.STALLED, (RankEnd(),) * RANKS, stuck()),
    }
    ended = {
        name: LaunchObservation((answered(),), end, 1.5, tails, nothing)
        for name, end in ends.items()
    }
    all_answered = LaunchObservation((answered(), answered()), None, 1.0, nothing, nothing)
    return {"all answered": all_answered, **ended}
