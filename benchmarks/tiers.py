"""What the second container costs: one submission graded in one container and in two.

    python benchmarks/tiers.py

Grades reference/mpi_sgd both ways in turn, five times; needs the images of `make image`.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
ISOLATIONS = ("one-container", "two-containers")


def main() -> None:
    """Print the median times of both ways, and their difference."""
    times_s: dict[str, list[float]] = {isolation: [] for isolation in ISOLATIONS}
    for _ in range(ROUNDS):
        for isolation in ISOLATIONS:
            times_s[isolation].append(_grading_s(isolation))
    one_s, two_s = (statistics.median(times_s[isolation]) for isolation in ISOLATIONS)
    print(
        f"reference/mpi_sgd: one container {one_s:.1f} s, two containers {two_s:.1f} s, "
        f"difference {two_s - one_s:+.2f} s"
    )


def _grading_s(isolation: str) -> float:
    started_s = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "grader", "run", "reference/mpi_sgd", "--isolation", isolation],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return time.monotonic() - started_s


if __name__ == "__main__":
    main()
