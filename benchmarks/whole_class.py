"""A class of 60 that is killed twice: does everybody get the mark of a grading by itself?

    python benchmarks/whole_class.py [--kills N] [--cores N] [--slurm] [--keep DIR]

Grades the class of sample_class.py by `grade class`, which is ended twice by `kill -9`, or with
--slurm on a Slurm of one node whose workers are; then each hand-in by `grade run`, one by one.
With --kills 0 nothing is ended, which shows what the whole costs.
Prints how long slots were occupied and what the batch layer costs, and ends with status 1 where a
mark differs, a grading is lost or done twice. Needs the images of `make image`.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sample_class
from sample_class import ASSIGNMENT, ROOT, Sample

sys.path.insert(0, str(ROOT / "tests" / "cluster"))
import one_node_slurm

from grader.addons.classroom.cores import blocks, cores_here
from grader.addons.classroom.hand_in_names import Naming

PKILL = "/usr/bin/pkill"
KILLED_AFTER = 15
"""How many gradings have ended since the start or the last kill."""
SLURM_TOML = """\
kind = "slurm"
address = "127.0.0.1"
[provider]
partition = "test"
exclusive = false
walltime = "03:00:00"
worker_init = "export PATH={path} PYTHONPATH={root}"
"""


def main() -> None:
    """Grade the class both ways, compare, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2, help="how many (default: 2)")
    parser.add_argument("--cores", type=int, default=1, help="of each grading (default: 1)")
    parser.add_argument("--slurm", action="store_true", help="on a Slurm of one node")
    parser.add_argument("--keep", type=Path, help="a new folder, which is left behind")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        work = (options.keep or Path(folder)).resolve()
        work.mkdir(exist_ok=True)
        samples = sample_class.make(work / "in")
        before = time.monotonic()
        with _on_slurm(work) if options.slurm else _here() as (environment, more):
            command = [f"--cores={options.cores}", *more]
            kept, last_s = _grade_class(work, command, environment, options.kills)
        print(f"the class: {time.monotonic() - before:.0f} s, {options.kills} times killed")
        _print_occupancy(work, kept, last_s, len(blocks(cores_here(), options.cores)))
        problems = [*_redone(work, kept), *_differences(work, samples)]
    print("\n".join(problems) or f"{len(samples)} hand-ins have the marks of gradings one by one")
    sys.exit(1 if problems else 0)


@contextmanager
def _here() -> Iterator[tuple[dict[str, str], list[str]]]:
    yield dict(os.environ), []


@contextmanager
def _on_slurm(work: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (work / "slurm.toml").write_text(SLURM_TOML.format(path=path, root=ROOT))
    with (
        TemporaryDirectory(prefix="slurm-") as folder,
        one_node_slurm.running(Path(folder)) as environment,
    ):
        yield environment, ["--cluster=slurm.toml", "--memory=500MiB"]


def _grade_class(
    work: Path, more: Sequence[str], environment: Mapping[str, str], kills: int
) -> tuple[dict[str, Any], float]:
    """Grade the class; return what was kept of before the last start, and how long that took.

    Here the command itself is killed; on a cluster its workers are, and the command goes on.
    """
    command = [sys.executable, "-m", "grader", "class", "in", "--sheets", *more]
    is_cluster = any(each.startswith("--cluster") for each in more)
    kept: dict[str, Any] = {}
    started_s = time.monotonic()
    process = _start(command, work, environment)
    for _ in range(kills):
        kept = _wait_for(work, len(kept) + KILLED_AFTER, process)
        if is_cluster:
            subprocess.run([PKILL, "-9", "-f", "high_throughput.process_worker_pool"], check=True)
        else:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kept = _outcomes(work)
            started_s = time.monotonic()
            process = _start(command, work, environment)
    process.wait()
    return kept, time.monotonic() - started_s


def _start(
    command: Sequence[str], work: Path, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, cwd=work, env={**environment, "PYTHONPATH": str(ROOT)})


def _wait_for(work: Path, number: int, process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    while len(found := _outcomes(work)) < number:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.2)
    return found


def _outcomes(work: Path) -> dict[str, Any]:
    files = (work / "graded-in" / "gradings").glob("[!.]*/outcome.json")
    return {file.parent.name: json.loads(file.read_text()) for file in files}


def _print_occupancy(work: Path, kept: Mapping[str, Any], last_s: float, slots: int) -> None:
    """Print what the slots did since the last start."""
    new = [each for key, each in _outcomes(work).items() if key not in kept]
    spans = [(datetime.fromisoformat(e["started_at"]).timestamp(), e["wall_time_s"]) for e in new]
    graded_s = sum(taken_s for _, taken_s in spans)
    begin_s = min(at_s for at_s, _ in spans)
    end_s = max(at_s + taken_s for at_s, taken_s in spans)
    # Nothing waits any more once fewer hand-ins are left than there are slots.
    ends_s = sorted(at_s + taken_s for at_s, taken_s in spans)[-slots:]
    waited_s = sum(end_s - each_s for each_s in ends_s)
    between_s = slots * (end_s - begin_s) - graded_s - waited_s
    print(f"since the last start {len(new)} gradings of {graded_s:.0f} s on {slots} slots")
    print(f"  before the first and after the last  {last_s - (end_s - begin_s):6.1f} s")
    print(f"  idle at the end, nothing being left  {waited_s:6.1f} s")
    print(f"  between gradings                     {between_s:6.1f} s")
    print(f"  occupied                             {graded_s / (slots * last_s):6.1%}")
    print(f"  added to the sum of the gradings     {slots * last_s / graded_s - 1:6.1%}")


def _redone(work: Path, kept: Mapping[str, Any]) -> list[str]:
    """Return which gradings are others than before they were killed."""
    after = _outcomes(work)
    return [f"{key} was done again" for key, each in kept.items() if after.get(key) != each]


def _differences(work: Path, samples: Sequence[Sample]) -> list[str]:
    """Return which students have another mark than their hand-in has by itself."""
    text = (work / "graded-in" / "gradebook.csv").read_text()
    rows = {row["id"]: row for row in csv.DictReader(text.splitlines())}
    found = []
    for each in samples:
        if not each.counts:
            continue
        row = rows[each.student]
        if row["hand_in"] != Naming("moodle").parse(each.label).label:
            found.append(f"{each.label}: {row['hand_in'] or 'nothing'} counts instead")
            continue
        alone = _alone(work / "in" / each.label)
        if not each.can_be_read or not alone:
            if row["status"] != "cannot be graded" or alone:
                found.append(f"{each.label}: {row['status']}, alone: {alone}")
            continue
        here = {name: row[name] for name in alone}
        if here != alone:
            odd = {name: (here[name], alone[name]) for name in alone if here[name] != alone[name]}
            found.append(f"{each.label}: (in the class, alone): {odd}")
        if each.partner and _without_names(rows[each.partner]) != _without_names(row):
            found.append(f"{each.partner} has not the mark of {each.student}")
        if each.is_late != ("late" in row["reasons"]):
            found.append(f"{each.label}: late is {each.is_late}, the gradebook: {row['reasons']}")
    return found


def _without_names(row: Mapping[str, str]) -> dict[str, str]:
    return {**row, "id": "", "name": "", "pseudonym": ""}


def _alone(hand_in: Path) -> dict[str, str]:
    """Return points and verdicts of a grading by itself, as the gradebook calls them."""
    command = ["run", str(hand_in), "--assignment", ASSIGNMENT, "--json", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *command], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    if not done.stdout:
        return {}
    report = json.loads(done.stdout)
    points = {part["name"]: f"{part['points']:g}" for part in report["parts"]}
    verdicts = {f"{part['name']} verdict": part["verdict"] for part in report["parts"]}
    return {**points, **verdicts}


if __name__ == "__main__":
    main()
