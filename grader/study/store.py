"""Keeps what was measured in the folder of a study, so that it is not measured again."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.study.plan import Point
from grader.study.results import Machine, Measurement
from grader.study.workplace import Sources

FILE = "measurements.jsonl"


def key_of(point: Point, repeat: int, found: Sources, data: str, machine: Machine) -> str:
    """Return a digest over all that decides what a run measures.

    data: identifies the data files. All files count: what a student's module imports is not known.
    """
    digest = hashlib.sha256()
    for name, content in sorted({**found.files, **found.programs}.items()):
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    what = [point.name, point.program, dict(point.settings), point.ranks, repeat, data]
    where = [machine.num_cores, machine.processor, dict(machine.software)]
    digest.update(json.dumps([what, where], sort_keys=True).encode())
    return digest.hexdigest()


class Store:
    """The measurements of a folder: read once, each new one added at once."""

    def __init__(self, folder: Path) -> None:
        """Read what is there. Raises UsageError where the folder cannot be written."""
        self._file = folder / FILE
        self._found: dict[str, Measurement] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._file.open("a+", encoding="utf-8") as file:
                file.seek(0)
                lines = file.read().split("\n")
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be used for a study: {error.strerror}; name a folder that may be "
                "written with --out"
            ) from None
        for line in lines:
            read = _read(line)
            if read is not None:
                self._found[read[0]] = read[1]

    def get(self, key: str) -> Measurement | None:
        """Return the run with this key, if it was measured before."""
        return self._found.get(key)

    def add(self, key: str, measurement: Measurement) -> None:
        """Keep a run."""
        self._found[key] = measurement
        line = json.dumps({"key": key, **_as_dict(measurement)})
        with self._file.open("a", encoding="utf-8") as file:
            # What an end in mid-line has left does not spoil the line that follows.
            file.write(f"\n{line}\n")


def _as_dict(measurement: Measurement) -> Mapping[str, Any]:
    return {
        "point": measurement.point,
        "repeat": measurement.repeat,
        "ranks": list(measurement.ranks),
        "failure": measurement.failure,
        "ran_out_of_time": measurement.ran_out_of_time,
    }


def _read(line: str) -> tuple[str, Measurement] | None:
    """Return the key and the run that a line holds; None for a line that was cut off."""
    try:
        found = json.loads(line)
        ranks = tuple(dict(each) for each in found["ranks"])
        return str(found["key"]), Measurement(
            str(found["point"]),
            int(found["repeat"]),
            ranks,
            str(found["failure"]),
            bool(found["ran_out_of_time"]),
        )
    except (ValueError, TypeError, KeyError):
        return None
