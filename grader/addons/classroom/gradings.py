"""Stores gradings on disk: a folder for each, which is there as a whole or not at all."""

import json
import shutil
import tempfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from grader.addons.classroom.class_folder import UNFINISHED, write_through
from grader.intake.submission import IS_EMPTY
from grader.model.errors import GraderError
from grader.model.report import Report
from grader.report import json_report

_REPORT = "report.json"
_OUTCOME = "outcome.json"
_RECORDING = "recording.rec"
_KEY_NUM_CHARS = 32
_TIMES = ("started_at", "wall_time_s", "num_launches")


def key_of(circumstances: Mapping[str, object], digest: str, recording: Path | None = None) -> str:
    """Return the name of a grading of the hand-in with this digest.

    circumstances: everything else that the mark depends on. recording: of an earlier grading, if
    that is judged again. Raises OSError.
    """
    text = json.dumps([circumstances, digest], sort_keys=True)
    if recording is not None:
        text += sha256(recording.read_bytes()).hexdigest()
    return sha256(text.encode()).hexdigest()[:_KEY_NUM_CHARS]


@dataclass(frozen=True)
class Outcome:
    """How the command that graded one hand-in ended."""

    digest: str
    """Of the hand-in."""
    exit_code: int
    """Of `grade run`; docs/exit-codes.md has what each means."""
    error: str
    """What it said where there is no report: one sentence."""
    started_at: str
    """ISO 8601, UTC."""
    wall_time_s: float
    cpus: tuple[int, ...]
    """That it ran on."""
    host: str = ""

    @property
    def is_final(self) -> bool:
        """Return whether grading again would end the same; without a report, a bad hand-in."""
        return not self.error or self.exit_code == 2

    @property
    def is_empty(self) -> bool:
        """Return whether the hand-in has no file, so that nothing can be graded."""
        return self.exit_code == 2 and IS_EMPTY in self.error.partition(";")[0]


@dataclass(frozen=True)
class Grading:
    """A grading that has ended."""

    outcome: Outcome
    report: Report | None
    """In full, for the course; None where the hand-in cannot be graded."""
    key: str = ""
    """The name of its folder."""


class Gradings:
    """The gradings in one folder, by their keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        """Return whether there is a grading of this key."""
        return (self.folder / key / _OUTCOME).is_file()

    def is_refused(self, key: str) -> bool:
        """Return whether it says that the hand-in cannot be graded."""
        outcome = self._outcome(key)
        return outcome is not None and bool(outcome.error)

    def may_change(self, key: str) -> bool:
        """Return whether it says that a hand-in with files cannot be graded.

        Missing data or permissions may have been the reason, and no key contains those.
        """
        outcome = self._outcome(key)
        return outcome is not None and bool(outcome.error) and not outcome.is_empty

    def load(self, key: str) -> Grading:
        """Return a grading. Raises GraderError where its files are not what was written."""
        outcome, file = self._outcome(key), self.folder / key / _REPORT
        if outcome is None or not (outcome.error or file.is_file()):
            raise GraderError(
                f"{file.parent} contains no complete grading; remove that folder to grade again"
            )
        report = None if outcome.error else json_report.parse_saved(file.read_bytes())
        return Grading(outcome, report, key)

    def courses_of(self, keys: Collection[str]) -> set[str]:
        """Return the digests of the courses that graded; damaged gradings say nothing."""
        digests = set()
        for key in keys:
            with suppress(GraderError):
                reports = [self.load(key).report]
                digests |= {each.versions.course_digest for each in reports if each}
        return digests

    def recording(self, key: str) -> Path | None:
        """Return the file of a grading's recording; None if none was kept."""
        file = self.folder / key / _RECORDING
        return file if file.is_file() else None

    def keep(
        self, key: str, outcome: Outcome, report: bytes | None, recording: bytes | None = None
    ) -> None:
        """Write a grading in one step: a process that is killed leaves nothing that looks like one.

        If another process has written it meanwhile, that one stays, since both must be equal.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self.folder))
        contents = {_REPORT: report, _RECORDING: recording, _OUTCOME: msgspec.json.encode(outcome)}
        try:
            for name, content in contents.items():
                if content is not None:
                    write_through(made / name, content)
            if not self.has(key):  # what somebody has left of a folder is not in the way
                self.remove(key)
            made.rename(self.folder / key)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if not self.has(key):
                raise

    def keys_of(self, digests: Collection[str]) -> list[str]:
        """Return the keys of all gradings of hand-ins with these digests, also of earlier ones.

        Damaged gradings are included, because they might belong to these hand-ins.
        """
        keys = [path.parent.name for path in sorted(self.folder.glob(f"[!.]*/{_OUTCOME}"))]
        outcomes = {key: self._outcome(key) for key in keys}
        return [key for key, each in outcomes.items() if each is None or each.digest in digests]

    def empty(self, digests: Collection[str]) -> dict[str, str]:
        """Return the key of a grading of each empty hand-in, by its digest: no image changes it."""
        outcomes = {key: self._outcome(key) for key in self.keys_of(digests)}
        return {each.digest: key for key, each in outcomes.items() if each and each.is_empty}

    def recorded(self, digests: Collection[str]) -> dict[str, str]:
        """Return the key of the first recorded grading of each of these hand-ins, by its digest."""
        outcomes = {key: self._outcome(key) for key in self.keys_of(digests) if self.recording(key)}
        found = [(each.started_at, each.digest, key) for key, each in outcomes.items() if each]
        return {digest: key for _, digest, key in sorted(found, reverse=True)}

    def _outcome(self, key: str) -> Outcome | None:
        """Return how a grading ended; None where that is not there, or damaged."""
        try:
            return msgspec.json.decode((self.folder / key / _OUTCOME).read_bytes(), type=Outcome)
        except (OSError, ValueError):
            return None

    def remove(self, key: str) -> None:
        """Remove a grading, if it is there."""
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def tidy(self) -> None:
        """Remove the remains of gradings that were killed while they wrote."""
        for left in self.folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)


def with_times_of(recording: Path, report: bytes) -> bytes:
    """Return the report of a recording that was judged again, with the times of its grading.

    The time that the judge took says nothing about the submission.
    """
    try:
        old, new = json.loads(recording.with_name(_REPORT).read_bytes()), json.loads(report)
        parts = {each["name"]: each["measured"] for each in old["parts"]}
        pairs = [(part["measured"], parts.get(part["name"], {})) for part in new["parts"]]
        for each, before in [(new["measured"], old["measured"]), *pairs]:
            each |= {name: before[name] for name in _TIMES if name in before}
    except (OSError, ValueError, KeyError, TypeError):  # left so, or of an earlier version
        return report
    return json.dumps(new).encode()
