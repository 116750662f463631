"""Docker as sealed grading needs it."""

import io
import socket
import threading
from contextlib import suppress
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from grader.container.docker_sentences import clear_sentences
from grader.container.engine import (
    CLIENT_LABEL,
    DATA_IN_CONTAINER,
    SHARED_IN_CONTAINER,
    SOURCE_LABEL,
    ContainerLimits,
    ContainerPlan,
    client,
    has_gone,
)
from grader.container.hardening import hardening, shared_folder
from grader.errors import GraderError

_LAST_WORD_S = 30.0


class DockerEngine:
    """The Docker daemon that DOCKER_HOST names, or the one of this machine."""

    def __init__(self, api: docker.APIClient) -> None:
        self._api = api

    @classmethod
    def connect(cls) -> "DockerEngine":
        """Return the daemon. Raises GraderError when none answers."""
        with clear_sentences():
            return cls(docker.from_env().api)

    def build(self, context: bytes, tag: str) -> None:
        """Build an image from a tar with its Dockerfile and files.

        Raises GraderError with what the daemon says when it cannot.
        """
        with clear_sentences():
            lines = self._api.build(
                fileobj=io.BytesIO(context),
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                decode=True,
            )
            for line in lines:
                if "error" in line:
                    raise GraderError(f"the image {tag} could not be built: {line['error']}")

    def create(self, plan: ContainerPlan) -> str:
        """Make a container that gets nothing but what the plan names, and keeps nothing."""
        with clear_sentences(plan.image):
            self._remove_stale()
            made = self._api.create_container(
                plan.image,
                list(plan.command),
                environment=dict(plan.environment),
                labels={CLIENT_LABEL: client()},
                hostname="grader",
                # With these two the end of the connection is the end of its standard input.
                stdin_open=True,
                detach=False,
                tty=False,
                host_config=self._api.create_host_config(
                    **hardening(plan.limits),
                    mounts=_mounts(plan) or None,
                    volumes_from=[plan.shares_with] if plan.shares_with else None,
                ),
            )
        return str(made["Id"])

    def _remove_stale(self) -> None:
        """Remove what clients that were killed have made and not started; the rest goes alone."""
        wanted = {"label": CLIENT_LABEL, "status": "created"}
        for found in self._api.containers(all=True, filters=wanted):
            if has_gone(found["Labels"][CLIENT_LABEL]):
                self.remove(found["Id"])

    def start(self, container: str, limits: ContainerLimits) -> "_Attached":
        """Start it and wait in a thread: once it has ended, nobody knows its exit code any more."""
        with clear_sentences():
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            stream = self._api.attach_socket(container, params=streams)
        connection: socket.socket = getattr(stream, "_sock", stream)
        connection.settimeout(limits.first_word_s)
        codes: list[int] = []

        def wait() -> None:
            with suppress(docker.errors.DockerException, requests.exceptions.RequestException):
                answer = self._api.wait(container, condition="removed")
                codes.append(int(answer["StatusCode"]))

        waiter = threading.Thread(target=wait, name="wait", daemon=True)
        waiter.start()
        attached = _Attached(connection, stream, waiter, codes)
        try:
            with clear_sentences():
                self._api.start(container)
        except GraderError:
            attached.close()
            raise
        return attached

    def remove(self, container: str) -> None:
        """Kill and remove it; it may be gone, or going, already, and so may the daemon."""
        with suppress(docker.errors.APIError, requests.exceptions.RequestException):
            self._api.remove_container(container, force=True, v=True)

    def source_of(self, image: str) -> str:
        """Return what `make image` has written on it; empty for an image of other make."""
        with clear_sentences(image):
            found: dict[str, Any] = self._api.inspect_image(image)  # type: ignore[no-untyped-call]
        labels = found["Config"].get("Labels") or {}
        return str(labels.get(SOURCE_LABEL, ""))

    def image_id(self, image: str) -> str:
        """Return the digest of its configuration, which names those of all its layers."""
        with clear_sentences(image):
            return str(self._api.inspect_image(image)["Id"])  # type: ignore[no-untyped-call]


def _mounts(plan: ContainerPlan) -> list[docker.types.Mount]:
    mounts = []
    if plan.data is not None:
        source = str(plan.data.resolve())
        mounts.append(docker.types.Mount(DATA_IN_CONTAINER, source, type="bind", read_only=True))
    if plan.shares:
        # Without a name, it goes with the last container that uses it, whatever ends that.
        driver = docker.types.DriverConfig("local", shared_folder(plan.limits))
        labels = {CLIENT_LABEL: client()}
        mounts.append(
            docker.types.Mount(
                SHARED_IN_CONTAINER, None, type="volume", labels=labels, driver_config=driver
            )
        )
    return mounts


class _Attached:
    """A connection, and the response around it, which would close it when collected."""

    def __init__(
        self, connection: socket.socket, stream: Any, waiter: threading.Thread, codes: list[int]
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._waiter = waiter
        self._codes = codes

    def sendall(self, data: bytes, /) -> None:
        self._connection.sendall(data)

    def recv(self, max_num_bytes: int, patience_s: float, /) -> bytes:
        self._connection.settimeout(patience_s)
        return self._connection.recv(max_num_bytes)

    def exit_code(self) -> int | None:
        self._waiter.join(_LAST_WORD_S)
        return self._codes[0] if self._codes else None

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._stream.close()
