"""The sealed door: a submission goes into a fresh container, a report comes out of it."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from grader import assignment as assignments
from grader import submission as submissions
from grader.data import require_known_files
from grader.errors import GraderError, UsageError
from grader.home import SUITES
from grader.runner import intake_stream
from grader.runner.container_output import Output, listen
from grader.runner.docker_engine import DockerEngine
from grader.runner.engine import DATA_IN_CONTAINER, Connection, ContainerLimits, Engine

_NOT_STARTED = (126, 127)
_KILLED = 137


def grade_in_container(
    submission: Path,
    *,
    image: str,
    options: Sequence[str] = (),
    assignment: str | None = None,
    data: Path | None = None,
    on_progress: Callable[[str], None],
    secret: bytes = b"",
    limits: ContainerLimits | None = None,
    engine: Engine | None = None,
) -> bytes:
    """Grade a folder or zip in a container of `image`; return the JSON report it prints.

    options: further options of `grade check`, such as `--part NAME`.
    assignment: its name; found out from the files when left out.
    data: a folder with data files, which the container may read.
    secret: the course's, from which the inputs follow; empty for the public ones.
    on_progress: gets each line of progress as it comes.
    Raises UsageError when the submission cannot be graded, GraderError when Docker, the image or
    the grader inside fails. Whatever happens, the container is gone afterwards.
    """
    limits = limits or ContainerLimits()
    wanted = assignments.wanted(SUITES, assignment)
    files = submissions.read(submission, wanted).loose_files()
    package = intake_stream.pack_secret(secret) + intake_stream.pack(files)
    if data is not None:
        require_known_files(data)
    engine = engine or DockerEngine.connect()
    command = ["check", "--from-stdin", "--json", "-"]
    command += [] if assignment is None else ["--assignment", assignment]
    command += [] if data is None else ["--data", DATA_IN_CONTAINER]
    container = engine.create(image, [*command, *options], limits, data)
    try:
        connection = engine.attach(container, limits)
        try:
            exit_code_at_end = engine.start(container)
            # In a thread: a container that fails early never reads, and one that talks while it
            # reads needs us to listen.
            sender = threading.Thread(target=_send, args=(connection, package), daemon=True)
            sender.start()
            output = _listen(connection, on_progress, limits)
            return _report(output, exit_code_at_end(), image, limits)
        finally:
            connection.close()
    finally:
        engine.remove(container)


def _send(connection: Connection, package: bytes) -> None:
    # Why the container stopped reading is told by its exit code and its last words.
    with suppress(OSError):
        connection.sendall(package)


def _listen(
    connection: Connection, on_progress: Callable[[str], None], limits: ContainerLimits
) -> Output:
    try:
        return listen(connection, on_progress)
    except TimeoutError:
        raise GraderError(
            f"the grading container said nothing for {limits.time_s:.0f} s and was removed"
        ) from None
    except OSError as error:
        raise GraderError(f"the connection to the grading container broke: {error}") from None


def _report(output: Output, exit_code: int | None, image: str, limits: ContainerLimits) -> bytes:
    """Return the report; nothing short of a whole one from an orderly end counts."""
    if exit_code == _KILLED:
        raise GraderError(
            "the grading container was killed (exit code 137), most likely because it needed more "
            f"than its {limits.memory_num_bytes / (1 << 30):.3g} GiB of memory"
        )
    if exit_code in _NOT_STARTED:
        raise GraderError(
            f"there is no `grade` in the image {image!r}: name one that `make image` has built"
        )
    if exit_code == UsageError.exit_code:
        raise UsageError(output.error or "the grader in the container refused the submission")
    report = output.report.strip()
    if exit_code in (0, 1, GraderError.exit_code) and report:
        return report
    ended = "an unknown exit code" if exit_code is None else f"exit code {exit_code}"
    raise GraderError(output.error or f"the grading container ended with {ended} and no report")
