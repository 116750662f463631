"""Docker as the sealed door needs it, and one clear sentence for each way it can be missing."""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from grader.errors import GraderError
from grader.runner.engine import DATA_IN_CONTAINER, Connection, ContainerLimits

_LAST_WORD_S = 30.0
_INSTEAD = "or grade here without it: `grade check DIR`"


class DockerEngine:
    """The Docker daemon that DOCKER_HOST names, or the one of this machine."""

    def __init__(self, api: docker.APIClient) -> None:
        self._api = api

    @classmethod
    def connect(cls) -> "DockerEngine":
        """Return the daemon. Raises GraderError when none answers."""
        with _clear_sentences():
            return cls(docker.from_env().api)

    def create(
        self, image: str, command: Sequence[str], limits: ContainerLimits, data: Path | None
    ) -> str:
        """Make a container that gets nothing but standard input and data, and keeps nothing."""
        with _clear_sentences(image):
            made = self._api.create_container(
                image,
                list(command),
                hostname="grader",
                # With these two the end of the connection is the end of its standard input.
                stdin_open=True,
                detach=False,
                tty=False,
                host_config=self._api.create_host_config(
                    **hardening(limits), mounts=_mounts(data) or None
                ),
            )
        return str(made["Id"])

    def attach(self, container: str, limits: ContainerLimits) -> Connection:
        """Connect to all three streams, before the first byte can be lost."""
        with _clear_sentences():
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            stream = self._api.attach_socket(container, params=streams)
        connection: socket.socket = getattr(stream, "_sock", stream)
        connection.settimeout(limits.time_s)
        return _Attached(connection, stream)

    def start(self, container: str) -> Callable[[], int | None]:
        """Start it and wait in a thread: once it has ended, nobody knows its exit code any more."""
        codes: list[int] = []

        def wait() -> None:
            with suppress(docker.errors.DockerException, requests.exceptions.RequestException):
                answer = self._api.wait(container, condition="removed")
                codes.append(int(answer["StatusCode"]))

        waiter = threading.Thread(target=wait, name="wait", daemon=True)
        waiter.start()
        with _clear_sentences():
            self._api.start(container)

        def exit_code_at_end() -> int | None:
            waiter.join(_LAST_WORD_S)
            return codes[0] if codes else None

        return exit_code_at_end

    def remove(self, container: str) -> None:
        """Kill and remove it; it may be gone, or going, already."""
        with suppress(docker.errors.NotFound, docker.errors.APIError):
            self._api.remove_container(container, force=True, v=True)


def hardening(limits: ContainerLimits) -> dict[str, Any]:
    """Return the host configuration of a container: everything off that grading does not need."""
    return {
        "auto_remove": True,
        # Without an init, processes that a student leaves behind pile up as zombies.
        "init": True,
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {
            "/tmp": "rw,nosuid,nodev,noexec,size=64m,nr_inodes=4096,mode=1777",  # noqa: S108
            "/judge": "rw,nosuid,nodev,noexec,size=16m,mode=0700",
        },
        "shm_size": limits.shared_memory_num_bytes,
        "cap_drop": ["ALL"],
        # To become the user of a run, and to end what that user left.
        "cap_add": ["SETUID", "SETGID", "KILL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": limits.num_processes,
        "mem_limit": limits.memory_num_bytes,
        "memswap_limit": limits.memory_num_bytes,
        "ulimits": [
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
        ],
        "log_config": docker.types.LogConfig(type="none"),
    }


def _mounts(data: Path | None) -> list[docker.types.Mount]:
    if data is None:
        return []
    return [docker.types.Mount(DATA_IN_CONTAINER, str(data.resolve()), type="bind", read_only=True)]


class _Attached:
    """A connection, and the response around it, which would close it when collected."""

    def __init__(self, connection: socket.socket, stream: Any) -> None:
        self._connection = connection
        self._stream = stream

    def sendall(self, data: bytes, /) -> None:
        self._connection.sendall(data)

    def recv(self, max_num_bytes: int, /) -> bytes:
        return self._connection.recv(max_num_bytes)

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._stream.close()


@contextmanager
def _clear_sentences(image: str = "") -> Iterator[None]:
    """Turn what the Docker SDK raises into GraderError with one sentence and the next step."""
    try:
        yield
    except docker.errors.ImageNotFound:
        raise GraderError(
            f"there is no image {image!r} here: build it with `make image`, or name another one "
            "with --image"
        ) from None
    except docker.errors.APIError as error:
        raise GraderError(f"Docker refused: {_one_line(error.explanation or error)}") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise GraderError(_why_unreachable(error)) from None


def _why_unreachable(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return (
            "you may not use Docker on this machine: ask to be added to the group `docker` and "
            f"log in again, {_INSTEAD}"
        )
    if any(isinstance(cause, FileNotFoundError | ConnectionRefusedError) for cause in causes):
        if shutil.which("docker") is None:
            return f"Docker is not installed: install it, {_INSTEAD}"
        return (
            "Docker is installed but its daemon does not answer: start it (on most machines "
            f"`sudo systemctl start docker`), {_INSTEAD}"
        )
    return f"Docker does not answer: {_one_line(error)}; check DOCKER_HOST, {_INSTEAD}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that it wraps, however the libraries in between did so."""
    waiting, seen = [error], set[int]()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        wrapped = [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
        waiting += [each for each in wrapped if isinstance(each, BaseException)]


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:300]
