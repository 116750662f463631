"""Writes down what is seen of the launches of one grading, and finds what was written last."""

import contextlib
import hashlib
import platform
from pathlib import Path

from grader.course.versions import observer_digest
from grader.grading.settings import Settings
from grader.model.errors import GraderError, UsageError
from grader.model.report import Report
from grader.observe.interposer.build import cache_folder
from grader.recording.codec import encode
from grader.recording.launch_plan import LaunchPlan, field_digests, key_of
from grader.recording.observation import LaunchObservation
from grader.recording.recording import Header, RecordedLaunch, Recording, read, write
from grader.recording.replay import is_worth_keeping, label_of
from grader.recording.store import remove_oldest

_LAST_NUM_BYTES = 256 << 20
"""Of the last recording of one folder; a longer one is not kept."""
_MEMORY_NUM_BYTES = 512 << 20
"""Of a recording that somebody has asked for, which the judge holds until it has ended."""
_ALL_LAST_NUM_BYTES = 1 << 30


class Recorder:
    """The launches of one grading, as they come."""

    def __init__(self, most_num_bytes: int = _MEMORY_NUM_BYTES) -> None:
        """most_num_bytes: of all launches; those that come after it are left out."""
        self._most_num_bytes = most_num_bytes
        self._num_bytes = 0
        self.launches: dict[str, RecordedLaunch] = {}
        self.is_whole = True
        """No launch was left out."""

    def keep(self, plan: LaunchPlan, observed: LaunchObservation) -> None:
        """Take note of a launch."""
        if self._num_bytes >= self._most_num_bytes or not is_worth_keeping(observed):
            self.is_whole = False
            return
        fields = field_digests(plan)
        key = key_of(fields)
        if key not in self.launches:
            self.launches[key] = RecordedLaunch(fields, label_of(plan), encode(observed))
            self._num_bytes += len(self.launches[key].observed)

    def recording(self, report: Report, settings: Settings) -> Recording:
        """Return all of it, with whom it is of."""
        machine = {"kernel": platform.release(), "processor": platform.machine()}
        header = Header(
            observer=observer_digest(),
            host="sealed" if settings.sealed else "local",
            environment={**report.versions.packages, **machine},
            submission=report.submission_digest,
            assignment=report.assignment,
            course=report.versions.course,
            course_digest=report.versions.course_digest,
            notes=report.notes,
            is_whole=self.is_whole and not settings.journal.has_kept,
        )
        return Recording(header, self.launches)


def keep_last(submission: Path, recording: Recording) -> None:
    """Keep the recording of a check until the next one of the same folder.

    Nothing is kept where it is too long or the cache cannot be written: no grading fails for that.
    """
    if sum(len(each.observed) for each in recording.launches.values()) > _LAST_NUM_BYTES:
        return
    file = _last_file(submission)
    with contextlib.suppress(OSError, GraderError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, recording)
        remove_oldest(file.parent.glob("*.rec"), _ALL_LAST_NUM_BYTES)


def last_recording(submission: Path) -> Recording | None:
    """Return what the last check of a folder has kept; None where another observer has."""
    try:
        recording = read(_last_file(submission))
    except GraderError:
        return None
    return recording if recording.header.observer == observer_digest() else None


def _last_file(submission: Path) -> Path:
    name = hashlib.sha256(str(submission.resolve()).encode(errors="surrogateescape")).hexdigest()
    return cache_folder() / "checks" / f"{name[:32]}.rec"


def require_observer(file: Path, header: Header, wanted: str) -> None:
    """Raise UsageError for a recording of another observer than is wanted."""
    if header.observer != wanted:
        raise UsageError(
            f"{file} was recorded by the observer {header.observer}, but this grader judges "
            f"recordings of {wanted}; record it again with `grade observe`"
        )
