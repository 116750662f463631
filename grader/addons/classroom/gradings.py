"""What has been graded, on disk: a folder for each grading, there in whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from grader.intake.submission import IS_EMPTY
from grader.model.errors import GraderError
from grader.model.report import Report
from grader.report import json_report

_REPORT = "report.json"
_OUTCOME = "outcome.json"
_RECORDING = "recording.rec"
_KEY_NUM_CHARS = 32
_UNFINISHED = ".making-"
"""How the names of files and folders begin until they are whole."""


@dataclass(frozen=True)
class Circumstances:
    """All but the hand-in that a mark follows from."""

    engine_digest: str
    image: str
    """What identifies its content; empty where nothing is sealed."""
    courses: tuple[str, ...]
    """Name and digest of each."""
    assignment: str
    options: tuple[str, ...]
    secret_digest: str
    """So that nobody learns the secret; a mark follows from the inputs that it gives."""

    def key(self, digest: str, recording: Path | None = None) -> str:
        """Return what a grading of the hand-in with this digest is called.

        recording: what was seen of it, where that is judged again. Raises OSError.
        """
        text = json.dumps([asdict(self), digest], sort_keys=True)
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
        """Return whether another try now would find the same; without a report, a bad hand-in."""
        return not self.error or self.exit_code == 2

    @property
    def is_empty(self) -> bool:
        """Return whether the hand-in has no file, so that nothing can be graded."""
        return self.exit_code == 2 and IS_EMPTY in self.error.partition(";")[0]


@dataclass(frozen=True)
class Grading:
    """A grading that has ended."""

    key: str
    outcome: Outcome
    report: Report | None
    """In full, for the course; None where the hand-in cannot be graded."""


class Gradings:
    """The gradings in one folder, by their keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        """Return whether there is a grading of this key."""
        return (self.folder / key / _OUTCOME).is_file()

    def is_refused(self, key: str) -> bool:
        """Return whether it says that the hand-in cannot be graded."""
        try:
            return bool(json.loads((self.folder / key / _OUTCOME).read_bytes())["error"])
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def load(self, key: str) -> Grading:
        """Return a grading. Raises GraderError where its files are not what was written."""
        folder = self.folder / key
        try:
            data = json.loads((folder / _OUTCOME).read_bytes())
            outcome = Outcome(**{**data, "cpus": tuple(data["cpus"])})
            content = (folder / _REPORT).read_bytes() if not outcome.error else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GraderError(
                f"{folder} no longer holds a grading ({type(error).__name__}); remove that "
                "folder to grade it again"
            ) from None
        report = json_report.parse_saved(content) if content is not None else None
        return Grading(key, outcome, report)

    def recording(self, key: str) -> Path | None:
        """Return where what was seen of a grading lies; None where nothing was kept."""
        file = self.folder / key / _RECORDING
        return file if file.is_file() else None

    def keep(
        self, key: str, outcome: Outcome, report: bytes | None, recording: bytes | None = None
    ) -> None:
        """Write a grading, in one step: whoever is killed leaves nothing that looks like one.

        What another has written meanwhile stays, since it follows from the same.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.folder))
        try:
            if report is not None:
                _write_through(made / _REPORT, report)
            if recording is not None:
                _write_through(made / _RECORDING, recording)
            _write_through(made / _OUTCOME, json.dumps(asdict(outcome)).encode())
            if not self.has(key):  # what somebody has left of a folder is not in the way
                self.remove(key)
            made.rename(self.folder / key)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if not self.has(key):
                raise

    def keys_of(self, digests: Collection[str]) -> list[str]:
        """Return the keys of all gradings of hand-ins with these digests, also of earlier ones.

        With them those that are damaged: nobody can say that they are somebody else's.
        """
        keys = [path.parent.name for path in sorted(self.folder.glob(f"[!.]*/{_OUTCOME}"))]
        return [key for key in keys if self._digest(key) in {*digests, None}]

    def _digest(self, key: str) -> str | None:
        try:
            return str(json.loads((self.folder / key / _OUTCOME).read_bytes())["digest"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self, key: str) -> None:
        """Remove a grading, if it is there."""
        shutil.rmtree(self.folder / key, ignore_errors=True)

    def tidy(self) -> None:
        """Remove what gradings have left that were killed while they wrote."""
        for left in self.folder.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)


def _write_through(file: Path, content: bytes) -> None:
    """Write a file that is on the disk before it is called by its name."""
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def write_atomically(file: Path, content: Mapping[str, object] | str | bytes) -> None:
    """Replace a file in one step; a mapping is written as JSON. Raises OSError."""
    if isinstance(content, Mapping):
        content = json.dumps(content, indent=2, sort_keys=True)
    data = content if isinstance(content, bytes) else content.encode("utf-8", errors="replace")
    handle, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=file.parent)
    os.close(handle)
    made = Path(name)
    try:
        _write_through(made, data)
        made.replace(file)
    except OSError:
        made.unlink(missing_ok=True)
        raise


def remove_unfinished(out: Path) -> None:
    """Remove what was killed while it wrote into the folder of a class: it may have names in it."""
    for folder in ("", "students/*/", "marking/*/", "pairs/"):
        for left in out.glob(f"{folder}{_UNFINISHED}*"):
            left.unlink(missing_ok=True)
