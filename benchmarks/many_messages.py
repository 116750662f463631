"""What the judge takes for submissions that make a million calls, against one that makes few.

    python benchmarks/many_messages.py [FORM...]

A million is meant of one grading of one part: calls of the submission, of all ranks in all cases of
all launches. How many the judge has looked at is counted, and shown. CPU time and memory are those
of the judge's process; what its ranks (and zygote and mpirun) took is shown beside it, and both
together as a multiple of the normal form's. Each grading has a process of its own, which this one
looks at. Memory is what the judge adds to what it begins with. Last: how long the grading took; the
judge looks at the ranks now and then, whatever they do.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from grader import pipeline
from grader.judge.student_calls import StudentCalls
from grader.trace.calls import Trace

PART = "naive_allreduce"
RIGHT = """\
import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
    before(comm)
    me, n = comm.Get_rank(), comm.Get_size()
    got = np.empty((n, *send.shape), dtype=send.dtype)
    others = [(me + k) % n for k in range(1, n)]
    pending = [comm.Irecv(got[k, ...], source=k) for k in others]
    pending += [comm.Isend(send, dest=k) for k in others]
    MPI.Request.Waitall(pending)
    recv[...] = send
    if send.size:
        for k in others:
            recv[...] = op(recv, got[k, ...])

def before(comm):
"""
FORMS = {
    "normal": "    pass\n",
    "to_nobody": """\
    for _ in range(NUM):
        comm.Isend(b"", MPI.PROC_NULL)
""",
    "to_itself": """\
    for _ in range(NUM // 3):
        request = comm.Irecv(bytearray(8), comm.Get_rank(), 7)
        comm.Isend(b"12345678", comm.Get_rank(), 7)
        request.Wait()
""",
    "varied": """\
    got, given = bytearray(1 << 17), bytes(1 << 17)
    for number in range(NUM // 3):
        tag, size = (comm.Get_rank() + number) * 7919 % (1 << 20), number * 31 % (1 << 17)
        request = comm.Irecv(got, comm.Get_rank(), tag)
        comm.Isend([given, size, MPI.BYTE], comm.Get_rank(), tag)
        request.Wait()
""",
    "tests": """\
    for number in range(NUM // 2):
        request = comm.Isend(b"", MPI.PROC_NULL)
        request.Test()
""",
    "probes": """\
    for _ in range(NUM // 2):
        comm.Iprobe(tag=5)
        comm.Isend(b"", MPI.PROC_NULL)
""",
    "lower_case": """\
    for _ in range(NUM // 3):
        comm.isend(None, comm.Get_rank(), 7)
        comm.recv(source=comm.Get_rank(), tag=7)
""",
    "waits_on_many": """\
    for _ in range(NUM // 64):
        MPI.Request.Waitall([comm.Isend(b"", MPI.PROC_NULL) for _ in range(64)])
""",
    "copies": """\
    for _ in range(NUM // 3):
        made = [comm]
        for call in ("Dup", "Barrier", "Free"):
            made.append(getattr(made[-1 if call != "Free" else 1], call)())
""",
}
ELEMENT_BY_ELEMENT = """\
import numpy as np
from mpi4py import MPI

def allreduce(send, recv, comm, op):
    me, n = comm.Get_rank(), comm.Get_size()
    given = np.ascontiguousarray(send).reshape(-1)
    others = [k for k in range(n) if k != me]
    got = {k: np.empty_like(given) for k in others}
    for i in range(given.size):
        pending = [comm.Irecv(got[k][i:i + 1], source=k) for k in others]
        pending += [comm.Isend(given[i:i + 1], dest=k) for k in others]
        MPI.Request.Waitall(pending)
    recv[...] = send
    for k in others:
        if given.size:
            recv[...] = op(recv, got[k].reshape(send.shape))
"""
NUM_CALLS = 2_800
"""Of each rank in each case, about: a case has 2 to 8 ranks, and some 80 are run."""


@dataclass(frozen=True)
class Cost:
    """What grading one form took."""

    judge_s: float
    """CPU time of the judge's process."""
    ranks_s: float
    """CPU time of all that it started."""
    num_bytes: int
    lasted_s: float
    num_calls: int
    """Those of the submission that the judge has looked at."""
    verdicts: str

    @property
    def whole_s(self) -> float:
        """Return the CPU time of the judge and of all that it started."""
        return self.judge_s + self.ranks_s


def main() -> None:
    """Grade each form and print what it took, and as a multiple of the normal one."""
    names = sys.argv[1:] or [*FORMS, "element_by_element"]
    normal = _measured("normal")
    print(
        f"{'form':18} {'calls':>9} {'ranks s':>7} {'judge s':>7} {'MiB':>5} {'judge':>6} "
        f"{'memory':>6} {'both':>6} {'lasted':>8}"
    )
    for name in dict.fromkeys(["normal", *names]):
        cost = normal if name == "normal" else _measured(name)
        print(
            f"{name:18} {cost.num_calls:>9,} {cost.ranks_s:>7.1f} {cost.judge_s:>7.2f} "
            f"{cost.num_bytes >> 20:>5} {cost.judge_s / normal.judge_s:>5.2f}x "
            f"{cost.num_bytes / normal.num_bytes:>5.2f}x "
            f"{cost.whole_s / normal.whole_s:>5.2f}x {cost.lasted_s:>6.0f} s  {cost.verdicts}",
            flush=True,
        )


def _measured(name: str) -> Cost:
    command = [sys.executable, __file__, "--judge", name]
    began_s, sizes = time.monotonic(), [0]
    with tempfile.TemporaryFile("w+") as said:
        judge = subprocess.Popen(command, stdout=said)
        while judge.poll() is None:
            sizes.append(_num_bytes(judge.pid))
            time.sleep(0.02)
        said.seek(0)
        told = said.read()
    if judge.returncode:
        raise SystemExit(judge.returncode)
    judge_s, ranks_s, before, num_calls, verdicts = told.strip().split(maxsplit=4)
    return Cost(
        float(judge_s),
        float(ranks_s),
        max(sizes) - int(before),
        time.monotonic() - began_s,
        int(num_calls),
        verdicts,
    )


def _judge(name: str) -> None:
    """Grade one form here, and print CPU seconds, bytes at first, calls and verdicts."""
    num_calls = _count_calls()
    with tempfile.TemporaryDirectory() as folder:
        source = ELEMENT_BY_ELEMENT
        if name in FORMS:
            source = RIGHT + FORMS[name].replace("NUM", str(NUM_CALLS))
        Path(folder, "my_naive_allreduce.py").write_text(source)
        before = _num_bytes(os.getpid())
        report = pipeline.grade(Path(folder), assignment="mpi_sgd", parts=[PART])
    own, started = map(_cpu_s, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    (part,) = report.parts
    if report.score is None:
        raise SystemExit(f"{name}: the grader failed: {part.message}")
    told = sorted({each.verdict.value for each in part.tests})
    points = f"{part.points}/{part.max_points}"
    print(own, started, before, sum(num_calls), points, *told)


def _cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _count_calls() -> list[int]:
    """Have noted how many calls of the submission each case has, and return where."""
    found: list[int] = []
    student_calls_of = StudentCalls.of

    def noting(self: StudentCalls, trace: Trace, *, all_count: bool = False) -> Trace:
        judged = student_calls_of(self, trace, all_count=all_count)
        found.append(judged.num_calls)
        return judged

    StudentCalls.of = noting  # type: ignore[method-assign]
    return found


def _num_bytes(pid: int) -> int:
    """Return the memory of a process that is its own: not files, not shared with ranks."""
    status = Path(f"/proc/{pid}/status").read_text()
    own = status.partition("RssAnon:")[2].split()
    return int(own[0]) << 10 if own else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        _judge(sys.argv[2])
    else:
        main()
