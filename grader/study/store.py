"""Keeps what was measured in the folder of a study, so that it is not measured again."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.model.errors import UsageError
from grader.study.plan import Point
from grader.study.results import Machine, Measurement
from grader.study.workplace import Sources

FILE = "measurements.jsonl"
_MOST_FAILURES = 2
"""So often a run fails before that is final."""


def key_of(point: Point, repeat: int, found: Sources, images: str, machine: Machine) -> str:
    """Return a digest of everything that decides what a run measures.

    All files count: what a student's module imports is not known. images: which ones are learned
    from, not where they lie: their files are as published, or nothing is measured.
    """
    digest = hashlib.sha256()
    for name, content in sorted({**found.files, **found.programs}.items()):
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    run = [point.name, point.program, dict(point.settings), point.ranks, point.launcher.value]
    about = [*run, repeat, images, asdict(machine)]
    digest.update(json.dumps(about, sort_keys=True).encode())
    return digest.hexdigest()


class Store:
    """The measurements of a folder: read once, each new one added at once."""

    def __init__(self, folder: Path) -> None:
        """Read what is there. Raises UsageError where the folder cannot be written."""
        self._file = folder / FILE
        self._found: dict[str, Measurement] = {}
        self._num_failures: Counter[str] = Counter()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._file.open("a+", encoding="utf-8") as file:
                file.seek(0)
                lines = file.read().split("\n")
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be used for a study: {error.strerror}; name a writable "
                "folder with --out"
            ) from None
        for line in lines:
            read = _read(line)
            if read is not None:
                self._keep(*read)

    def get(self, key: str) -> Measurement | None:
        """Return the run with this key, if it was measured before."""
        return self._found.get(key)

    def is_final(self, key: str) -> bool:
        """Return whether the run with this key need not be made again.

        A crash or a run out of time may come of a busy machine; failed twice, it is the code's.
        """
        found = self._found.get(key)
        if found is None or not found.failure:
            return found is not None
        return found.is_certain or self._num_failures[key] >= _MOST_FAILURES

    def add(self, key: str, measurement: Measurement) -> None:
        """Keep a run."""
        self._keep(key, measurement)
        line = json.dumps({"key": key, **_as_dict(measurement)})
        with self._file.open("a", encoding="utf-8") as file:
            # What an end in mid-line has left does not spoil the line that follows.
            file.write(f"\n{line}\n")

    def _keep(self, key: str, measurement: Measurement) -> None:
        self._found[key] = measurement
        self._num_failures[key] += bool(measurement.failure)


def _as_dict(measurement: Measurement) -> Mapping[str, Any]:
    return {
        "point": measurement.point,
        "repeat": measurement.repeat,
        "ranks": list(measurement.ranks),
        "failure": measurement.failure,
        "ran_out_of_time": measurement.ran_out_of_time,
        "is_certain": measurement.is_certain,
        "busy_share": measurement.busy_share,
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
            bool(found["is_certain"]),
            float(found.get("busy_share", 0)),
        )
    except (ValueError, TypeError, KeyError):
        return None
