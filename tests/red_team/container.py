"""Grades in a container with the very flags of `grade run`, and an inspector around the judge."""

import contextlib
import io
import json
import os
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import docker
from docker.types import Mount
from docker.utils.socket import STDERR, frames_iter
from this_checkout import IMAGE

from grader.intake import stream as intake_stream
from grader.intake.submission import read
from grader.recording import journal
from grader.sealed.container.docker_engine import hardening
from grader.sealed.container.plan import ContainerLimits

from .canaries import Canaries

LABEL = "grader.red-team"
SOURCE_OVER_IMAGE = "GRADER_SOURCE_OVER_IMAGE"
"""Names a folder with `grader`, `tests/suites` and `student_template`, and an `interposer.so` if it
is to be another: what is graded with in place of the image's own."""
_HOME = "/opt/grader"
_COURSE = "/opt/course"
_HANDED_IN = "/handed_in"
_INSPECTOR = Path(__file__).parent / "inspector.py"
_COMMAND = ("/usr/local/bin/grade", "check", "--json", "-")
_MAX_NUM_BYTES = 96 << 20
_GRACE_S = 20.0
"""Beyond the limit of an attack, before its container is removed; what ends within is reported as
slowed down."""


@dataclass(frozen=True)
class Graded:
    """What a container showed of one grading."""

    report: bytes
    """What `grade` printed: all that a student gets to see, with stderr."""
    stderr: str
    exit_code: int | None
    """Of `grade`; None when the inspector itself did not live to tell."""
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    wall_time_s: float
    container: str
    canaries: Canaries = field(default_factory=Canaries)


def package(files: Mapping[str, bytes]) -> bytes:
    """Return a submission as the client reads and sends it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return intake_stream.pack(replace(read(Path(folder), files), origin="hostile"))


def grade(
    submission: bytes | None,
    options: Sequence[str],
    *,
    limit_s: float,
    mounted: Path | None = None,
    tree: Path | None = None,
    suites: Path | None = None,
    changes: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Graded:
    """Grade what a client sends, beginning after the secret, or what is mounted.

    mounted: a folder or archive that is read in the container; nothing is sent then.
    tree, suites: folders to use in place of the image's own `grader` and `tests/suites`.
    changes: differences from the hardened host configuration.
    Raises TimeoutError when the container has not ended after limit_s and some, DockerException
    when Docker fails.
    """
    canaries = Canaries()
    api = docker.from_env().api
    configuration = {**hardening(ContainerLimits()), **(changes or {})}
    made = api.create_container(
        IMAGE,
        [*_COMMAND, *(["--from-stdin"] if mounted is None else [_HANDED_IN]), *options],
        entrypoint=["tini", "-s", "--", "/opt/venv/bin/python", "-I", f"{_HOME}/inspector.py"],
        environment={
            "CANARY_OF_JUDGE_FILE": canaries.of_judge_file,
            "CANARY_OF_JUDGE_ENVIRONMENT": canaries.of_judge_environment,
            **(environment or {}),
        },
        hostname="grader",
        labels=[LABEL],
        stdin_open=True,
        detach=False,
        host_config=api.create_host_config(**configuration, mounts=_mounts(tree, suites, mounted)),
    )
    container = made["Id"]
    started_s = time.monotonic()
    # Docker's client would wait for a container that hangs for as long as it does.
    killer = threading.Timer(limit_s + _GRACE_S, _remove, (api, container))
    try:
        stream = api.attach_socket(
            container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        connection = getattr(stream, "_sock", stream)
        api.start(container)
        killer.start()
        try:
            secret = intake_stream.pack_secret(canaries.secret.encode())
            if submission is not None:
                connection.sendall(secret + submission + journal.pack(journal.Resume()))
            stdout, stderr = _listen(connection)
        finally:
            connection.close()
            stream.close()
    finally:
        killer.cancel()
        _remove(api, container)
    if time.monotonic() - started_s > limit_s + _GRACE_S:
        raise TimeoutError(f"the container had not ended after {limit_s + _GRACE_S:.0f} s")
    told = _told(stdout)
    return Graded(
        report=str(told.get("stdout", "")).encode(),
        stderr=_shown(stderr.decode(errors="replace")),
        exit_code=told.get("exit_code"),
        before=told.get("before", {}),
        after=told.get("after", {}),
        wall_time_s=time.monotonic() - started_s,
        container=container,
        canaries=canaries,
    )


def _listen(connection: Any) -> tuple[bytes, bytes]:
    taken = {False: io.BytesIO(), True: io.BytesIO()}
    for stream, data in frames_iter(connection, tty=False):
        held = taken[stream == STDERR]
        if held.tell() < _MAX_NUM_BYTES:
            held.write(data)
    return taken[False].getvalue(), taken[True].getvalue()


def _shown(stderr: str) -> str:
    """Return what the client shows of standard error: it keeps the journal to itself."""
    lines = stderr.splitlines()
    return "\n".join(line for line in lines if not line.startswith(journal.PREFIX))


def _told(stdout: bytes) -> dict[str, Any]:
    """Return what the inspector said; nothing when it was killed before it could."""
    try:
        told = json.loads(stdout)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _remove(api: docker.APIClient, container: str) -> None:
    # It has removed itself, or is about to.
    with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
        api.remove_container(container, force=True, v=True)


def _mounts(tree: Path | None, suites: Path | None, mounted: Path | None) -> list[Mount]:
    # Below a folder that only root may enter, as the files they stand for.
    sources = {f"{_HOME}/inspector.py": _INSPECTOR}
    if over := os.environ.get(SOURCE_OVER_IMAGE):
        others = {
            f"{_HOME}/grader": Path(over).resolve() / "grader",
            f"{_COURSE}/tests/suites": Path(over).resolve() / "tests" / "suites",
            f"{_COURSE}/student_template": Path(over).resolve() / "student_template",
            "/opt/interposer/interposer.so": Path(over).resolve() / "interposer.so",
        }
        sources |= {target: source for target, source in others.items() if source.exists()}
    if tree is not None:
        sources[f"{_HOME}/grader"] = tree
    if suites is not None:
        sources[f"{_COURSE}/tests/suites"] = suites
    if mounted is not None:
        sources[_HANDED_IN] = mounted
    return [
        Mount(target, str(source), type="bind", read_only=True)
        for target, source in sources.items()
    ]
