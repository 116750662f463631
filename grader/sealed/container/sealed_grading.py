"""Sealed grading: a submission goes into a fresh container, a report comes out of it."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from grader.course.courses import Courses, how_to_build
from grader.course.data import require_known_files
from grader.intake import process as intake
from grader.intake import stream as intake_stream
from grader.intake.placement.recognition import assignment_of
from grader.intake.submission import Submission
from grader.model.errors import INTERRUPTED, GraderError, UsageError
from grader.model.report import NEEDS_REVIEW
from grader.recording import journal
from grader.recording.journal import Failing, Finished
from grader.recording.recording import MAX_NUM_BYTES
from grader.sealed.container import kernel_refusals
from grader.sealed.container.docker_engine import Attached, DockerEngine
from grader.sealed.container.plan import DATA_IN_CONTAINER, ContainerLimits, ContainerPlan
from grader.sealed.container.resume import (
    ContainerDied,
    Record,
    until_reported,
    when_engine_is_back,
)
from grader.sealed.container.stream_demux import BrokenOff, Output, listen
from grader.sealed.container.watchdog import Watchdog

_NOT_STARTED = (126, 127)
_KILLED = 137
_UNKNOWN_THERE = ("unknown assignment", "no file of any known assignment")
"""How the grader inside refuses an assignment that its image does not have."""


def grade_in_container(
    submission: Path,
    *,
    courses: Courses,
    image: str,
    options: Sequence[str],
    assignment: str | None,
    data: Path | None,
    on_progress: Callable[[str], None],
    on_finished: Callable[[Finished | Failing], None],
    secret: bytes,
    limits: ContainerLimits,
    on_recording: Callable[[bytes], None] | None,
    refusals: Path | None,
) -> bytes:
    """Grade a folder or zip in a container of `image`; return the JSON report it prints.

    secret: from which the inputs follow; empty for the public ones. on_recording: gets what was
    seen of the ranks, as a recording that nobody has signed. refusals: the folder of
    `kernel_refusals`; None to try everything. Raises UsageError, GraderError. Whatever happens,
    the container is gone afterwards.
    """
    found = intake.read(submission, courses.wanted(assignment))
    package = intake_stream.pack_secret(secret) + intake_stream.pack(found)
    if data is not None:
        require_known_files(data)
    command = ["check", "--from-stdin", "--json", "-"]
    command += [] if on_recording is None else ["--send-recording"]
    command += [] if assignment is None else ["--assignment", assignment]
    command += [] if data is None else ["--data", DATA_IN_CONTAINER]
    engine = DockerEngine.connect()
    image_id = engine.image_id(image)
    boot = kernel_refusals.known_boot(refusals, image_id)
    plan = ContainerPlan(image, [*command, *options], limits, image_id, boot, data)
    record = Record(on_finished, Watchdog(limits.first_word_s))

    def grade_once() -> bytes:
        sent = package + journal.pack(record.resume)
        return _run(engine, plan, sent, on_progress, record, on_recording)

    try:
        report = until_reported(record, grade_once)
    except UsageError as error:
        if any(words in str(error) for words in _UNKNOWN_THERE):
            _require_only_here(found, assignment, courses, image)
        raise
    # Where the selftest found something missing, there is no report.
    kernel_refusals.remember(refusals, image_id)
    return report


def _require_only_here(found: Submission, name: str | None, courses: Courses, image: str) -> None:
    """Raise GraderError where the client knows an assignment that the image does not."""
    with suppress(UsageError):
        assignment = assignment_of(found, name, courses)
        raise GraderError(
            f"the image {image!r} lacks the assignment {assignment.name} of the course "
            f"{assignment.course}; {how_to_build(courses.of(assignment))}"
        )


def selftest_in_container(*, image: str) -> bytes:
    """Return, as JSON, which protections a container of `image` has. Raises GraderError."""
    plan = ContainerPlan(image, ["selftest", "--from-stdin", "--json", "-"], ContainerLimits())
    return _run(DockerEngine.connect(), plan, b"", lambda line: None, Record())


def _run(
    engine: DockerEngine,
    plan: ContainerPlan,
    package: bytes,
    on_progress: Callable[[str], None],
    record: Record,
    on_recording: Callable[[bytes], None] | None = None,
) -> bytes:
    """Start a container, send it the package, return the report it prints."""
    with ExitStack() as stack:
        container = when_engine_is_back(record, lambda: engine.create(plan))
        stack.callback(engine.remove, container)
        started = engine.start(container, plan.limits)
        stack.callback(started.close)
        # In a thread: a container that fails early never reads, and one that talks while it reads
        # needs us to listen.
        sender = threading.Thread(target=_send, args=(started, package), daemon=True)
        sender.start()
        record.begin()
        most = 0 if on_recording is None else MAX_NUM_BYTES
        output = _listen(started, on_progress, record, most)
        report = _report(output, started.exit_code(), plan, record)
        if on_recording is not None:
            on_recording(output.recording)
        return report


def _send(connection: Attached, package: bytes) -> None:
    # Why the container stopped reading is told by its exit code and its last words.
    with suppress(OSError):
        connection.sendall(package)


def _listen(
    connection: Attached,
    on_progress: Callable[[str], None],
    record: Record,
    max_recording_num_bytes: int,
) -> Output:
    try:
        return listen(
            connection,
            on_progress,
            record.take,
            record.watchdog.remaining_s,
            max_recording_num_bytes=max_recording_num_bytes,
        )
    except TimeoutError:
        raise ContainerDied(f"the judge {record.watchdog.why()}, so it was stopped") from None
    except BrokenOff as error:
        raise ContainerDied(str(error)) from None
    except OSError as error:
        raise ContainerDied(f"the connection to the grading container broke: {error}") from None


def _report(output: Output, exit_code: int | None, plan: ContainerPlan, record: Record) -> bytes:
    """Return the report; nothing short of a whole one from an orderly end counts."""
    if exit_code == _KILLED:
        raise ContainerDied(
            "the grading container was killed (exit code 137), most likely because it needed "
            f"more than its {plan.limits.memory_num_bytes / (1 << 30):.3g} GiB of memory"
        )
    if exit_code in _NOT_STARTED:
        raise GraderError(
            f"the image {plan.image!r} has no command `grade`: name an image that "
            "`make image` built"
        )
    if exit_code == UsageError.exit_code:
        refused = "the grader in the container refused the submission"
        raise UsageError(*output.errors or [refused])
    report = output.report.strip()
    if exit_code in (0, 1, GraderError.exit_code, NEEDS_REVIEW) and report:
        return report
    ended = "an unknown exit code" if exit_code is None else f"exit code {exit_code}"
    # Our own Ctrl-C does not come this way: somebody else has stopped the container.
    last = output.errors[-1] if output.errors else ""
    if last.startswith(INTERRUPTED):
        raise ContainerDied("something other than the grader stopped the grading container")
    if record.why_lost:
        raise ContainerDied(record.why_lost)
    if output.errors and exit_code == GraderError.exit_code:
        raise GraderError(*output.errors)
    raise ContainerDied(f"the grading container ended with {ended} and no report")
