"""Honest gradings beside attackers on one machine: is any disturbed, or made slow?

    python benchmarks/neighbours.py [TIMES]      (default: 40)

Grades a reference by `grade run`, while beside it the same reference is graded over and over, or
hostile submissions that take what they can get of the machine. Prints how long a grading takes
beside each, and ends with status 1 where one beside an attacker lost a point or took more than
BOUND times as long as one beside an honest neighbour. Needs the image of `make image`.
"""

import itertools
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
HONEST = ROOT / "reference" / "mpi_sgd"
PART = "naive_allreduce"
ATTACKERS = (
    "forkbomb_in_rank",
    "thread_bomb",
    "zombie_storm",
    "memory_bomb_malloc",
    "fill_tmp_shm_inodes",
    "output_flood_stdout",
    "judge_flooded_with_frames",
    "busy_after_result",
    "ignore_sigterm_hang",
    "kill_everything",
)
"""Each uses up something that all containers of a machine have in common."""
TIMES_HONEST = 10
BOUND = 2.0


def main() -> None:
    """Grade beside honest neighbours, then beside attackers; print and compare the times."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with _hand_ins() as hand_ins:
        beside_honest_s = _gradings(TIMES_HONEST, [HONEST])
        beside_attackers_s = _gradings(times, hand_ins)
    typical_s = statistics.median(beside_honest_s)
    print(f"beside an honest neighbour: median {typical_s:.1f} s, max {max(beside_honest_s):.1f} s")
    print(
        f"beside an attacker:         median {statistics.median(beside_attackers_s):.1f} s, "
        f"max {max(beside_attackers_s):.1f} s, {times} gradings, all of full marks"
    )
    ratio = max(beside_attackers_s) / typical_s
    print(f"slowest beside an attacker: {ratio:.2f} times the honest median (bound {BOUND})")
    sys.exit(0 if ratio <= BOUND else 1)


def _gradings(times: int, neighbours: Sequence[Path]) -> list[float]:
    """Grade the reference so often beside the neighbours, each in its turn; return the seconds."""
    taken_s = []
    with _graded_over_and_over(neighbours):
        for _ in range(times):
            started_s = time.monotonic()
            ended = _grade(HONEST)
            taken_s.append(time.monotonic() - started_s)
            assert ended.returncode == 0, f"exit code {ended.returncode}: {ended.stdout[-2000:]}"
            report = json.loads(ended.stdout)
            assert report["score"] == report["max_score"], ended.stdout[-2000:]
    return taken_s


@contextmanager
def _graded_over_and_over(neighbours: Sequence[Path]) -> Iterator[None]:
    """Keep one grading of a neighbour going; the last is waited for."""
    enough = threading.Event()

    def grade_on() -> None:
        for neighbour in itertools.cycle(neighbours):
            if enough.is_set():
                return
            _grade(neighbour)

    thread = threading.Thread(target=grade_on)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def _grade(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grader", "run", str(folder), "--assignment", "mpi_sgd"]
    return subprocess.run(
        [*command, "--part", PART, "--json", "-"], capture_output=True, text=True, check=False
    )


@contextmanager
def _hand_ins() -> Iterator[list[Path]]:
    """Yield the attackers as they would be handed in: without their labels."""
    with TemporaryDirectory() as folder:
        for name in ATTACKERS:
            shutil.copytree(
                ROOT / "tests" / "hostile" / name,
                Path(folder, name),
                ignore=shutil.ignore_patterns("attack.toml"),
            )
        yield [Path(folder, name) for name in ATTACKERS]


if __name__ == "__main__":
    main()
