"""The long repeats: the same verdicts and points every time, idle and with both cores busy.

    python benchmarks/acceptance.py [TIMES [NAME...]]      (default: 10; `make acceptance`)

Grades the references, and of the example submissions marked `deterministic` one for each part and
verdict, TIMES times, half of them while other processes keep all cores busy. It can be stopped at
any time: what has been graded by the same source is not graded again (.acceptance.jsonl keeps it).
Ends with status 1 at any difference. With NAMEs whatever lies in folders so called: references, and
any of the example submissions marked `deterministic`.
"""

import json
import multiprocessing
import os
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from grader.course.courses import bundled
from grader.course.versions import engine_digest
from grader.grading import pipeline
from grader.model.report import Report

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".acceptance.jsonl"


def main() -> None:
    """Grade everything again and again; say what differed."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    only = set(sys.argv[2:])
    references = [(folder, None) for folder in sorted((ROOT / "reference").iterdir())]
    labelled = list(_deterministic()) if only else _one_of_each(_deterministic())
    cases = [
        (folder, part)
        for folder, part in [*references, *labelled]
        if not only or only & set(folder.relative_to(ROOT).parts)
    ]
    kept = _kept()
    different = sum([_repeat(folder, part, times, kept) for folder, part in cases])
    print(f"{len(cases)} submissions, {times} times each, {different} gradings different")
    sys.exit(1 if different else 0)


def _deterministic() -> Iterator[tuple[Path, str]]:
    """Yield the submissions whose label says that they always fail alike, and their part."""
    for file in sorted((ROOT / "tests" / "submissions").glob("*/*/*/expected.toml")):
        expected = tomllib.loads(file.read_text())
        if expected.get("deterministic"):
            yield file.parent, expected["part"]


def _one_of_each(found: Iterable[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return the first submission for each part and verdict."""
    first: dict[tuple[str, str, str], tuple[Path, str]] = {}
    for folder, part in found:
        first.setdefault((folder.parent.parent.name, folder.parent.name, part), (folder, part))
    return list(first.values())


def _repeat(folder: Path, part: str | None, times: int, kept: dict[str, list[str]]) -> int:
    """Grade one submission `times` times; return how many gradings differ from the first."""
    name, started_s = str(folder.relative_to(ROOT)), time.monotonic()
    found, num_kept = list(kept.get(name, [])[:times]), len(kept.get(name, []))
    for index in range(len(found), times):
        busy = keep_cores_busy() if index >= times // 2 else []
        try:
            report = pipeline.grade(folder, parts=[part] if part else None)
        finally:
            for process in busy:
                process.kill()
                process.join()
        found.append(_marks(report))
        if found[-1] != found[0]:
            print(f"{name}: {_messages(report)}", flush=True)
        with KEPT.open("a") as file:
            file.write(json.dumps([_digest(), name, found[-1]]) + "\n")
    different = [marks for marks in found if marks != found[0]]
    took_s = (time.monotonic() - started_s) / max(times - num_kept, 1)
    print(
        f"{name}: {found[0].splitlines()[0]}, {times} times, {len(different)} different, "
        f"{took_s:.1f} s each",
        flush=True,
    )
    for marks in different:
        pairs = zip(found[0].splitlines(), marks.splitlines(), strict=False)
        print("\n".join(f"  {one} / {other}" for one, other in pairs if one != other), flush=True)
    return len(different)


def _marks(report: Report) -> str:
    """Return the verdict and points of a grading, and a line for each test."""
    lines = [f"{report.score}/{report.max_score}"]
    for part in report.parts:
        lines.append(f"{part.name} {part.verdict.value} {part.points}")
        lines += [f"{part.name} {each.name} {each.verdict.value}" for each in part.tests]
    return "\n".join(lines)


def _messages(report: Report) -> str:
    """Return what the tests say that lost points, for whoever has to find out why."""
    tests = [each for part in report.parts for each in part.tests if each.points != each.max_points]
    return "\n".join(f"  {each.name}: {each.message}\n{each.detail}" for each in tests)


@cache
def _digest() -> str:
    """Return the digest of engine and course, by which gradings are kept."""
    return f"{engine_digest()} {bundled().digest()}"


def _kept() -> dict[str, list[str]]:
    """Return the gradings of this source so far, by submission."""
    kept: dict[str, list[str]] = {}
    lines = KEPT.read_text().splitlines() if KEPT.is_file() else []
    for digest, name, marks in map(json.loads, lines):
        if digest == _digest():
            kept.setdefault(name, []).append(marks)
    return kept


def keep_cores_busy() -> list[multiprocessing.Process]:
    """Return processes that do nothing but keep the cores busy, one for each core."""
    processes = [
        multiprocessing.Process(target=_spin, daemon=True) for _ in range(os.cpu_count() or 2)
    ]
    for process in processes:
        process.start()
    return processes


def _spin() -> None:
    while True:
        pass


if __name__ == "__main__":
    main()
