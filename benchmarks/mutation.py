"""Every mutant of every reference, graded: what no test finds is a hole in a suite.

    python benchmarks/mutation.py [NAME...]      (`make acceptance`)

Grades each mutant up to the first test that fails, and writes tests/mutation/kill_matrix.csv. It
can be stopped at any time: what has been graded by the same engine and suites is not graded again
(.mutation.jsonl keeps it). With NAMEs only references whose path holds one of them. Ends with
status 1 when a survivor is not explained in tests/mutation/equivalent.toml.
"""

import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

from grader import pipeline
from grader.authoring.kill_matrix import Row, parse, reasons, render, summary, unexplained
from grader.authoring.mutants import Mutant, mutants
from grader.courses import bundled
from grader.model import Verdict
from grader.runner.fork_server import ForkServer
from grader.runner.launch import launch
from grader.settings import Settings
from grader.suite.selection import Selection

ROOT = Path(__file__).resolve().parents[1]
MATRIX = ROOT / "tests" / "mutation" / "kill_matrix.csv"
EQUIVALENT = MATRIX.with_name("equivalent.toml")
KEPT = ROOT / ".mutation.jsonl"


@dataclass(frozen=True)
class Job:
    """One mutant to be graded on the parts that its file is handed in for."""

    assignment: str
    file: str
    parts: tuple[str, ...]
    mutant: Mutant
    occurrence: int
    digest: str


def main() -> None:
    """Grade what is not known yet; write the matrix and say what survived."""
    names = sys.argv[1:]
    wanted = [job for job in jobs() if not names or any(name in job.file for name in names)]
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
    graded = {row.file for row in rows}
    others = parse(MATRIX.read_text()) if MATRIX.is_file() else []
    MATRIX.write_text(render([*rows, *(row for row in others if row.file not in graded)]))
    explained = reasons(EQUIVALENT.read_text())
    missed = unexplained(rows, explained)
    print(summary(rows, explained))
    for row in missed:
        print(f"missed: {row.file}:{row.line}: {row.key}")
    sys.exit(1 if missed else 0)


def jobs() -> Iterator[Job]:
    """Yield every mutant of every file that a part asks for."""
    for name in bundled().names():
        found = bundled().load(name)
        for file in dict.fromkeys(file for part in found.parts for file in part.files):
            path = ROOT / "reference" / name / file
            parts = tuple(part.name for part in found.parts if file in part.files)
            seen: Counter[tuple[object, ...]] = Counter()
            for each in mutants(path.read_text(), str(path)):
                change = (each.operator, each.before, each.after)
                decides = [*_decides(name), name, file, each.source]
                digest = hashlib.sha256("\0".join(decides).encode()).hexdigest()
                shown = f"{name}/{file}"
                yield Job(name, shown, parts, each, seen[change], digest)
                seen[change] += 1


@cache
def _decides(name: str) -> tuple[str, ...]:
    """Return the digest of the suites of an assignment and of the engine's parts that judge."""
    whole = hashlib.sha256()
    for folder in (ROOT / "tests" / "suites" / name, ROOT / "grader" / "judge"):
        for file in sorted(folder.rglob("*.py")):
            whole.update(file.read_bytes())
    return (whole.hexdigest(),)


def grade(job: Job) -> tuple[Job, Row]:
    """Grade one mutant up to its first failure."""
    assignment = bundled().load(job.assignment)
    row = partial(
        Row,
        assignment=job.assignment,
        file=job.file,
        line=job.mutant.line,
        operator=job.mutant.operator,
        before=job.mutant.before,
        after=job.mutant.after,
        occurrence=job.occurrence,
    )
    settings = Settings(
        launch=partial(launch, server=_server(assignment.needs)),
        selection=Selection(fail_fast=True),
    )
    with tempfile.TemporaryDirectory() as folder:
        reference = ROOT / "reference" / job.assignment
        relative = job.file.removeprefix(f"{job.assignment}/")
        for file in reference.rglob("*.py"):
            copy = Path(folder, file.relative_to(reference))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        Path(folder, relative).write_text(job.mutant.source)
        report = pipeline.grade(
            Path(folder), assignment=job.assignment, parts=job.parts, settings=settings
        )
    for part in report.parts:
        if part.points == part.max_points and part.max_points > 0:
            continue
        for test in part.tests:
            if test.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED):
                return job, row(verdict=test.verdict.value, killed_by=f"{part.name}: {test.name}")
    return job, row(verdict=Verdict.ACCEPTED.value, killed_by="")


@cache
def _server(needs: tuple[str, ...]) -> ForkServer:
    """Return a fork server of this process, which ends with it."""
    return ForkServer(needs).__enter__()


def _kept() -> dict[str, Row]:
    if not KEPT.is_file():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line.pop("digest"): Row(**line) for line in lines}


if __name__ == "__main__":
    main()
