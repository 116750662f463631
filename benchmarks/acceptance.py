"""The long repeats: the same verdicts, points and report every time, idle and with both cores busy.

    python benchmarks/acceptance.py [TIMES [NAME...]]      (default: 20; `make acceptance`)

Grades the references and every example submission marked `deterministic` TIMES times, half of them
while other processes keep all cores busy, and compares the JSON reports but for what they call
`measured`. Ends with status 1 at any difference. With NAMEs only what lies in folders so called.
"""

import json
import multiprocessing
import os
import sys
import time
import tomllib
from pathlib import Path

from grader import pipeline
from grader.report import json_report

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Grade everything again and again; say what differed."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    only = set(sys.argv[2:])
    references = [(folder, None) for folder in sorted((ROOT / "reference").iterdir())]
    cases = [
        (folder, part)
        for folder, part in [*references, *_deterministic_failures()]
        if not only or only & set(folder.parts)
    ]
    different = 0
    for folder, part in cases:
        different += _repeat(folder, part, times)
    sys.exit(1 if different else 0)


def _deterministic_failures() -> list[tuple[Path, str]]:
    found = []
    verdicts_seen = set()
    for file in sorted((ROOT / "tests" / "submissions").glob("*/*/*/expected.toml")):
        expected = tomllib.loads(file.read_text())
        key = (expected["verdict"], expected["part"])
        if expected.get("deterministic") and key not in verdicts_seen:
            verdicts_seen.add(key)
            found.append((file.parent, expected["part"]))
    return found


def _repeat(folder: Path, part: str | None, times: int) -> int:
    """Grade one submission `times` times; return how many reports differ from the first."""
    reports, started_s = [], time.monotonic()
    for index in range(times):
        busy = keep_cores_busy() if index >= times // 2 else []
        try:
            report = pipeline.grade(folder, parts=[part] if part else None)
        finally:
            for process in busy:
                process.kill()
                process.join()
        reports.append(_without_measured(json.loads(json_report.render(report))))
    different = sum(report != reports[0] for report in reports)
    first = reports[0]
    took_s = (time.monotonic() - started_s) / times
    print(
        f"{folder.relative_to(ROOT)}: {first['verdict']} {first['score']}/{first['max_score']}, "
        f"{times} times, {different} different, {took_s:.1f} s each",
        flush=True,
    )
    for report in reports:
        if report != reports[0]:
            print(f"  {_first_difference(reports[0], report)}", flush=True)
    return different


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


def _without_measured(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_measured(v) for k, v in value.items() if k != "measured"}
    if isinstance(value, list):
        return [_without_measured(each) for each in value]
    return value


def _first_difference(one: object, other: object, path: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one:
            if one[key] != other.get(key):
                return _first_difference(one[key], other.get(key), f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                return _first_difference(left, right, f"{path}[{index}]")
    return f"{path}: {one!r} / {other!r}"


if __name__ == "__main__":
    main()
