"""Every mutant of every reference, graded: what no test finds is a hole in a suite.

    python benchmarks/mutation.py [NAME...]      (`make acceptance`)

Grades each mutant up to the first test that fails. It can be stopped at any time: what has been
graded by the same engine and suites is not graded again (.mutation.jsonl keeps it). With NAMEs only
references whose path holds one of them. Ends with status 1 when a survivor is not explained in
tests/mutation/equivalent.toml.
"""

import hashlib
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from grader.addons.authoring.verification.mutation import (
    Row,
    graded,
    grader_of,
    mutations,
    reasons,
    unexplained,
)
from grader.course.courses import bundled
from grader.grading.observing import observer
from grader.observe.run_control.forkserver_client import ForkserverClient

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = ROOT / "tests" / "mutation" / "equivalent.toml"
KEPT = ROOT / ".mutation.jsonl"


@dataclass(frozen=True)
class Job:
    """One mutant to be graded, and the digest of all that decides what becomes of it."""

    mutant: Row
    source: str
    digest: str


def main() -> None:
    """Grade what is not known yet, and say what survived."""
    names = sys.argv[1:]
    wanted = [job for job in jobs() if not names or any(name in job.mutant.file for name in names)]
    known = _kept()
    left = [job for job in wanted if job.digest not in known]
    print(f"{len(wanted)} mutants, {len(left)} to grade", flush=True)
    with (
        KEPT.open("a") as kept,
        multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool,
    ):
        for number, (job, row) in enumerate(pool.imap_unordered(grade, left), 1):
            known[job.digest] = row
            kept.write(json.dumps({"digest": job.digest, **asdict(row)}) + "\n")
            kept.flush()
            print(f"{number} of {len(left)}: {row.verdict} {row.key}", flush=True)
    rows = [known[job.digest] for job in wanted]
    explained = reasons(EQUIVALENT)
    missed = unexplained(rows, explained)
    print(summary(rows, explained))
    for row in missed:
        print(f"missed: {row.file}:{row.line}: {row.key}")
    sys.exit(1 if missed else 0)


def jobs() -> Iterator[Job]:
    """Yield every mutant of every file that a part asks for."""
    for assignment in bundled().assignments():
        for mutant, source in mutations(assignment):
            file = mutant.file.removeprefix(f"{assignment.name}/")
            decides = [*_decides(assignment.name), assignment.name, file, source]
            digest = hashlib.sha256("\0".join(decides).encode()).hexdigest()
            yield Job(mutant, source, digest)


@cache
def _decides(name: str) -> tuple[str, ...]:
    """Return the digest of the suites of an assignment and of the engine's parts that judge."""
    whole = hashlib.sha256()
    engine = ROOT / "grader"
    for folder in (ROOT / "tests" / "suites" / name, engine / "judge", engine / "oracles"):
        for file in sorted(folder.rglob("*.py")):
            whole.update(file.read_bytes())
    return (whole.hexdigest(),)


def grade(job: Job) -> tuple[Job, Row]:
    """Grade one mutant up to its first failure."""
    course = bundled()
    assignment = course.load(job.mutant.assignment)
    grader = grader_of(course, assignment, observer(_server(assignment.needs)))
    return job, graded(grader, job.mutant, job.source)


@cache
def _server(needs: tuple[str, ...]) -> ForkserverClient:
    """Return a forkserver of this process, which ends with it."""
    return ForkserverClient(needs).__enter__()


def _kept() -> dict[str, Row]:
    if not KEPT.is_file():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line.pop("digest"): Row(**line) for line in lines}


def summary(rows: Iterable[Row], reasons_by_key: Mapping[str, str]) -> str:
    """Return a Markdown table: by file, how many mutants are found, equivalent, and neither."""
    lines = ["| reference | mutants | killed | equivalent | missed |", "|---|---:|---:|---:|---:|"]
    by_file: dict[str, list[Row]] = {}
    for row in sorted(rows):
        by_file.setdefault(row.file, []).append(row)
    for file, found in by_file.items():
        killed = sum(bool(row.killed_by) for row in found)
        missed = len(unexplained(found, reasons_by_key))
        equivalent = len(found) - killed - missed
        lines.append(f"| `{file}` | {len(found)} | {killed} | {equivalent} | {missed} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
