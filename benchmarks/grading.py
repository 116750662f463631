"""A full grading of the reference against running its suites by hand in open mode.

    python benchmarks/grading.py

By hand means what an instructor without the judge would do: one `mpirun -n 16 pytest`, in which
smaller sizes run on the first ranks, so that no test is left out.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from grader import pipeline

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "reference" / "mpi_sgd"
SUITES = ROOT / "tests" / "suites" / "mpi_sgd"


def main() -> None:
    """Measure both once each way round and print the ratio."""
    judge_s, open_s, launches = [], [], 0
    for _ in range(2):
        started_s = time.monotonic()
        report = pipeline.grade(REFERENCE)
        judge_s.append(time.monotonic() - started_s)
        assert report.score == report.max_score, "the reference lost points"
        launches = sum(part.num_launches for part in report.parts)
        started_s = time.monotonic()
        _open_mode(16)
        open_s.append(time.monotonic() - started_s)
    print(f"grade check: {min(judge_s):.1f} s in {launches} launches")
    print(f"by hand:     {min(open_s):.1f} s in 1 launch (every rank runs pytest)")
    print(f"ratio:       {min(judge_s) / min(open_s):.2f}")


def _open_mode(ranks: int) -> None:
    beside = Path(sys.executable).parent / "mpirun"
    mpirun = str(beside) if beside.is_file() else shutil.which("mpirun")
    command = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    command += ["--mca", "pml", "ob1", "--mca", "btl", "self,sm"]
    command += ["--mca", "mpi_yield_when_idle", "1", "-n", str(ranks)]
    command += [sys.executable, "-m", "pytest", "-q", "--with-mpi", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(SUITES), "--submission", str(REFERENCE)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if done.returncode != 0:
        sys.exit(
            f"open mode with {ranks} ranks failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}"
        )


if __name__ == "__main__":
    main()
