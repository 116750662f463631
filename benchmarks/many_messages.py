"""What the judge takes for submissions that make many calls, against one that makes few.

    python benchmarks/many_messages.py [FORM...]

CPU time and memory are those of the judge's process alone, without ranks and zygote. Each grading
has a process of its own. Memory is what the judge adds to what it begins with.
"""

import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from grader import pipeline

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
    "tests": """\
    for number in range(NUM):
        request = comm.Isend(b"", MPI.PROC_NULL)
        request.Test()
""",
    "probes": """\
    for _ in range(NUM):
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
NUM_CALLS = 12_000
"""Of each rank in each case, about; how many that is in all is not counted here."""


def main() -> None:
    """Grade each form and print what it took, and as a multiple of the normal one."""
    names = sys.argv[1:] or [*FORMS]
    normal = _measured("normal")
    print(f"{'form':16} {'CPU s':>7} {'MiB':>6} {'CPU':>6} {'memory':>6}")
    for name in dict.fromkeys(["normal", *names]):
        cpu_s, num_bytes, verdicts = normal if name == "normal" else _measured(name)
        print(
            f"{name:16} {cpu_s:>7.2f} {num_bytes >> 20:>6} "
            f"{cpu_s / normal[0]:>6.2f} {num_bytes / normal[1]:>6.2f}  {verdicts}",
            flush=True,
        )


def _measured(name: str) -> tuple[float, int, str]:
    command = [sys.executable, __file__, "--judge", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu_s, num_bytes, verdicts = done.stdout.strip().split(maxsplit=2)
    return float(cpu_s), int(num_bytes), verdicts


def _judge(name: str) -> None:
    """Grade one form here, and print CPU seconds, bytes and verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        source = RIGHT + FORMS[name].replace("NUM", str(NUM_CALLS))
        Path(folder, "my_naive_allreduce.py").write_text(source)
        before = _num_bytes()
        peak = [before]
        threading.Thread(target=_watch, args=(peak,), daemon=True).start()
        report = pipeline.grade(Path(folder), assignment="mpi_sgd", parts=[PART])
        cpu_s = resource.getrusage(resource.RUSAGE_SELF)
    (part,) = report.parts
    told = sorted({each.verdict.value for each in part.tests})
    seconds = cpu_s.ru_utime + cpu_s.ru_stime
    print(seconds, peak[0] - before, f"{part.points}/{part.max_points}", *told)


def _num_bytes() -> int:
    """Return the memory of this process that is its own: not files, not shared with ranks."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) << 10


def _watch(peak: list[int]) -> None:
    while True:
        peak[0] = max(peak[0], _num_bytes())
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        _judge(sys.argv[2])
    else:
        main()
