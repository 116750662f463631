"""The same marks whatever the seed and the load: hand-ins that race, and hand-ins that do not.

    python benchmarks/seeds.py [--fixed N] [--drawn N] [NAME...]

Grades each N times with public inputs, then N times with inputs of a secret drawn each time; every
second grading while other processes keep all cores busy. NAME: labelled submissions as
`<verdict>/<assignment>/<the_bug>`, those below unless named. Ends with status 1 where marks differ.
"""

import argparse
import secrets
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from acceptance import keep_cores_busy

from grader.course.secret import NUM_BYTES, PUBLIC_SECRET
from grader.grading import pipeline
from grader.grading.settings import Settings

SUBMISSIONS = Path(__file__).resolve().parents[1] / "tests" / "submissions"
RACING = (
    "wrong_answer/mpi_sgd/async_stale_reply",
    "wrong_answer/mpi_sgd/async_wildcard_mixes_two_workers",
    "wrong_answer/mpi_sgd/naive_receives_from_any_source",
    "wrong_answer/mpi_sgd/ring_read_before_the_wait",
    "wrong_answer/psgd_hogwild/hogwild_without_share_memory",
)
"""What they compute depends on the order in which messages arrive or processes write."""
OTHERS = (
    "accepted/mpi_sgd/naive_any_source_with_a_tag_for_each_call",
    "deadlock/mpi_sgd/ring_receives_from_the_wrong_side",
    "rule_violation/mpi_sgd/sync_collective_lower_case",
    "wrong_answer/mpi_sgd/ring_tail_dropped",
    "wrong_answer/psgd_hogwild/psgd_last_batch_dropped",
)


@dataclass(frozen=True)
class Mark:
    """What one grading came to."""

    verdict: str
    points: float
    failed: frozenset[str]
    """The tests that lost points."""


def main() -> None:
    """Grade everything again and again; say what differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", type=int, default=10, metavar="N")
    parser.add_argument("--drawn", type=int, default=5, metavar="N")
    parser.add_argument("names", nargs="*", metavar="NAME", default=[*RACING, *OTHERS])
    options = parser.parse_args()
    num_different = 0
    for name in options.names:
        started_s = time.monotonic()
        marks = [_graded(name, PUBLIC_SECRET, index) for index in range(options.fixed)]
        marks += [
            _graded(name, secrets.token_bytes(NUM_BYTES), index) for index in range(options.drawn)
        ]
        took_s = (time.monotonic() - started_s) / len(marks)
        usual, _ = Counter(marks).most_common(1)[0]
        different = [(index, mark) for index, mark in enumerate(marks) if mark != usual]
        num_different += len(different)
        print(
            f"{name}: {usual.verdict} {usual.points:g} {len(marks)} times, {len(different)} "
            f"different, {took_s:.1f} s each",
            flush=True,
        )
        for index, mark in different:
            tests = ", ".join(sorted(mark.failed ^ usual.failed)) or "the same tests"
            print(f"  grading {index}: {mark.verdict} {mark.points:g}: {tests}", flush=True)
    print(f"{len(options.names)} submissions, {num_different} gradings different")
    sys.exit(1 if num_different else 0)


def _graded(name: str, secret: bytes, index: int) -> Mark:
    """Return the mark of a submission; every second time with busy cores."""
    folder = SUBMISSIONS / name
    part = tomllib.loads((folder / "expected.toml").read_text())["part"]
    busy = keep_cores_busy() if index % 2 else []
    try:
        report = pipeline.grade(
            folder,
            assignment=folder.parent.name,
            parts=[part],
            settings=Settings(secret=secret),
        )
    finally:
        for process in busy:
            process.kill()
            process.join()
    (result,) = report.parts
    failed = frozenset(each.name for each in result.tests if each.points != each.max_points)
    return Mark(result.verdict.value, result.points, failed)


if __name__ == "__main__":
    main()
