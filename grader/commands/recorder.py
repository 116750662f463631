"""Writes down what is seen of the launches of one grading, and finds what the last ones kept."""

import platform
from pathlib import Path

from grader.course.versions import observer_digest
from grader.grading.settings import Settings
from grader.model.errors import UsageError
from grader.model.report import Report
from grader.observe.interposer.build import cache_folder
from grader.recording.codec import encode
from grader.recording.launch_plan import LaunchPlan, field_digests, key_of
from grader.recording.observation import LaunchObservation
from grader.recording.recording import Header, RecordedLaunch, Recording
from grader.recording.replay import is_worth_keeping, label_of
from grader.recording.store import Store

_KEPT_NUM_BYTES = 1 << 30
"""Of the launches of the last checks."""
_MEMORY_NUM_BYTES = 512 << 20
"""Of a recording that somebody has asked for, which the judge holds until it has ended."""


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


def kept_launches() -> Store:
    """Return the launches of the last checks here, which `grade trace` shows without ranks."""
    return Store(cache_folder() / "checks", observer_digest(), max_num_bytes=_KEPT_NUM_BYTES)


def require_observer(file: Path, header: Header, wanted: str) -> None:
    """Raise UsageError for a recording of another observer than is wanted."""
    if header.observer != wanted:
        raise UsageError(
            f"{file} was recorded by the observer {header.observer}, but this grader needs the "
            f"observer {wanted}; record the submission again with `grade observe`"
        )
