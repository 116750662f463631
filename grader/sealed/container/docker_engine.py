"""Docker as sealed grading needs it."""

import io
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import docker
import docker.errors
import docker.types
import requests.exceptions

from grader.model.errors import GraderError
from grader.sealed.container.kernel_refusals import VARIABLE
from grader.sealed.container.plan import (
    CLIENT_LABEL,
    DATA_IN_CONTAINER,
    ContainerLimits,
    ContainerPlan,
    client,
    has_gone,
)

_LAST_WORD_S = 30.0
_INSTEAD = "or grade here without Docker: `grade check DIR`"


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
        """Build an image from a tar with its Dockerfile and files. Raises GraderError."""
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
                plan.image_id or plan.image,
                list(plan.command),
                labels={CLIENT_LABEL: client()},
                environment={VARIABLE: plan.kernel_refused},
                hostname="grader",
                # With these two the end of the connection is the end of its standard input.
                stdin_open=True,
                detach=False,
                tty=False,
                host_config=self._api.create_host_config(
                    **hardening(plan.limits), mounts=_mounts(plan) or None
                ),
            )
        return str(made["Id"])

    def _remove_stale(self) -> None:
        """Remove what clients that were killed have made and not started; the rest goes alone."""
        wanted = {"label": CLIENT_LABEL, "status": "created"}
        for found in self._api.containers(all=True, filters=wanted):
            if has_gone(found["Labels"][CLIENT_LABEL]):
                self.remove(found["Id"])

    def start(self, container: str, limits: ContainerLimits) -> "Attached":
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
        attached = Attached(connection, stream, waiter, codes)
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

    def label(self, image: str, name: str) -> str:
        """Return what its maker has written on it under this name; empty for nothing."""
        with clear_sentences(image):
            found: dict[str, Any] = self._api.inspect_image(image)  # type: ignore[no-untyped-call]
        labels = found["Config"].get("Labels") or {}
        return str(labels.get(name, ""))

    def image_id(self, image: str) -> str:
        """Return the digest of its configuration, which names those of all its layers."""
        with clear_sentences(image):
            return str(self._api.inspect_image(image)["Id"])  # type: ignore[no-untyped-call]


def _mounts(plan: ContainerPlan) -> list[docker.types.Mount]:
    if plan.data is None:
        return []
    source = str(plan.data.resolve())
    return [docker.types.Mount(DATA_IN_CONTAINER, source, type="bind", read_only=True)]


class Attached:
    """The standard streams of a running container, in Docker's multiplexed format, and its end."""

    def __init__(
        self, connection: socket.socket, stream: Any, waiter: threading.Thread, codes: list[int]
    ) -> None:
        """stream: the response around the connection, which would close it when collected."""
        self._connection = connection
        self._stream = stream
        self._waiter = waiter
        self._codes = codes

    def sendall(self, data: bytes) -> None:
        """Send to standard input; it ends when the connection is closed."""
        self._connection.sendall(data)

    def recv(self, max_num_bytes: int, patience_s: float, /) -> bytes:
        """Return some output, nothing at its end. Raises TimeoutError when none comes in time."""
        self._connection.settimeout(patience_s)
        return self._connection.recv(max_num_bytes)

    def exit_code(self) -> int | None:
        """Return it once the output has ended; None when nobody knows it."""
        self._waiter.join(_LAST_WORD_S)
        return self._codes[0] if self._codes else None

    def close(self) -> None:
        """Close both directions."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._stream.close()


@contextmanager
def clear_sentences(image: str = "") -> Iterator[None]:
    """Turn what the Docker SDK raises into GraderError with one sentence and the next step."""
    try:
        yield
    except docker.errors.ImageNotFound:
        raise GraderError(
            f"there is no image {image!r} here: build it with `make image`, or name another "
            "image with --image"
        ) from None
    except docker.errors.APIError as error:
        raise GraderError(f"Docker reported: {_one_line(error.explanation or error)}") from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise GraderError(_why_unreachable(error)) from None


def _why_unreachable(error: BaseException) -> str:
    causes = list(_causes(error))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return (
            "you do not have permission to use Docker on this machine: ask to be added to the "
            f"group `docker` and log in again, {_INSTEAD}"
        )
    host = os.environ.get("DOCKER_HOST")
    if any(isinstance(cause, FileNotFoundError | ConnectionRefusedError) for cause in causes):
        if host:
            return (
                f"no Docker daemon answers at DOCKER_HOST={host}: correct or unset it, {_INSTEAD}"
            )
        if shutil.which("docker") is None:
            return f"Docker is not installed: install it, {_INSTEAD}"
        return (
            "Docker is installed, but its daemon does not answer: start it (on most machines, with "
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


def hardening(limits: ContainerLimits) -> dict[str, Any]:
    """Return the host configuration of a container: everything off that grading does not need."""
    # Where several grade side by side, each has processors of its own.
    pinned = {"cpuset_cpus": limits.cpus} if limits.cpus else {}
    return {
        **pinned,
        # It goes when it ends, whatever has become of the client.
        "auto_remove": True,
        # Without an init, processes that a student leaves behind pile up as zombies.
        "init": True,
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        # Small, and nothing in them is a program; /judge is for root alone.
        "tmpfs": {
            "/tmp": "rw,nosuid,nodev,noexec,size=64m,nr_inodes=4096,mode=1777",  # noqa: S108
            "/judge": "rw,nosuid,nodev,noexec,size=16m,mode=0700",
            # MPI needs it. To remove millions of files would take longer than a grading.
            "/dev/shm": "rw,nosuid,nodev,noexec,"  # noqa: S108
            f"size={limits.shared_memory_num_bytes >> 20}m,nr_inodes=65536,mode=1777",
        },
        "cap_drop": ["ALL"],
        # To become the user of a run, and to end what that user left.
        "cap_add": ["SETUID", "SETGID", "KILL"],
        # No program gives rights back, such as one with a set-user-id bit.
        "security_opt": ["no-new-privileges"],
        # A port keeps nothing of a connection that has ended: the next run could read it there.
        "sysctls": {"net.ipv4.tcp_max_tw_buckets": "0"},
        "pids_limit": limits.num_processes,
        # Equal, so that nothing is swapped. There is no limit on processors: the kernel shares them
        # out fairly between containers, while a quota, once used up, stops all ranks at once.
        "mem_limit": limits.memory_num_bytes,
        "memswap_limit": limits.memory_num_bytes,
        "ulimits": [
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
            # Counted over the whole machine: the cap is pids_limit.
            docker.types.Ulimit(name="nproc", soft=4096, hard=4096),
        ],
        # What a submission prints is not to fill this machine's disk.
        "log_config": docker.types.LogConfig(type="none"),
    }
