"""podman as sealed grading needs it: its command line, which needs no service and no root."""

import contextlib
import json
import re
import secrets
import shutil
import subprocess
from typing import Any

import docker.types

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
from grader.container.podman_streams import PodmanStreams
from grader.errors import GraderError

_INSTEAD = "or grade with Docker: `--engine docker`"
_PATIENCE_S = 60.0
_NOT_IN_PODMAN = frozenset({"init"})
"""Needs a program that podman does not bring; the images have an init of their own."""
_SWITCHES = {"auto_remove": "--rm", "read_only": "--read-only"}
_OPTIONS = {
    "cap_add": "--cap-add",
    "cap_drop": "--cap-drop",
    "cpuset_cpus": "--cpuset-cpus",
    "ipc_mode": "--ipc",
    "log_config": "--log-driver",
    "mem_limit": "--memory",
    "memswap_limit": "--memory-swap",
    "network_mode": "--network",
    "pids_limit": "--pids-limit",
    "security_opt": "--security-opt",
    "shm_size": "--shm-size",
    "sysctls": "--sysctl",
    "tmpfs": "--tmpfs",
    "ulimits": "--ulimit",
}
_AGAINST_DEFAULTS = ("--read-only-tmpfs=false", "--http-proxy=false", "--systemd=false")
"""podman would add folders to write to, and the proxy variables of this machine."""


class PodmanEngine:
    """The podman on the PATH, for this user."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._volumes: dict[str, str] = {}
        """The shared folder of each container that has one."""

    @classmethod
    def connect(cls) -> "PodmanEngine":
        """Return podman. Raises GraderError when it is not there or cannot limit memory."""
        program = shutil.which("podman")
        if program is None:
            raise GraderError(
                "podman is not installed: install it (Debian, Ubuntu: `sudo apt install podman`), "
                f"{_INSTEAD}"
            )
        engine = cls(program)
        info = engine._run("info", "--format", "json")
        try:
            host = json.loads(info)["host"]
            limits = host.get("cgroupControllers") or []
            rootless_v1 = host["security"]["rootless"] and host["cgroupVersion"] == "v1"
        except (ValueError, KeyError, TypeError, AttributeError):
            raise GraderError(
                "`podman info` does not say whether podman can limit memory and processes; podman "
                f"4.0 or newer is needed: install it, {_INSTEAD}"
            ) from None
        if rootless_v1 or not {"memory", "pids"} <= set(limits):
            raise GraderError(
                "podman cannot limit memory and processes for this user on this machine (needed: "
                f"cgroups v2 with memory and pids; found: {host['cgroupVersion']} with "
                f"{', '.join(limits) or 'none'}): run it as root, {_INSTEAD}"
            )
        engine._remove_stale()
        return engine

    def create(self, plan: ContainerPlan) -> str:
        """Make a container that gets nothing but what the plan names, and keeps nothing."""
        mounts = []
        volume = None
        if plan.data is not None:
            # A --volume cannot name a folder with a colon.
            source = f'"source={plan.data.resolve()}"'
            mounts += ["--mount", f"type=bind,{source},target={DATA_IN_CONTAINER},readonly"]
        if plan.shares:
            volume = self._make_volume(plan.limits)
        shared = volume or self._volumes.get(plan.shares_with or "")
        if shared is not None:
            mounts += ["--volume", f"{shared}:{SHARED_IN_CONTAINER}:nosuid,nodev,noexec"]
        variables = [f"--env={name}={value}" for name, value in plan.environment.items()]
        container = self._run(
            *("create", "--interactive", "--pull=never", "--hostname=grader"),
            f"--label={CLIENT_LABEL}={client()}",
            *(*flags(plan.limits), *mounts, *variables, plan.image, *plan.command),
            image=plan.image,
        )
        if volume is not None:
            self._volumes[container] = volume
        return container

    def start(self, container: str, limits: ContainerLimits) -> PodmanStreams:
        """Start it; podman itself passes its streams on and ends with its exit code."""
        return PodmanStreams(
            subprocess.Popen(  # noqa: S603 - our own command line
                [self._program, "start", "--attach", "--interactive", container],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                # Ctrl-C is for us; the container ends with its standard input.
                start_new_session=True,
            )
        )

    def remove(self, container: str) -> None:
        """Kill and remove it, and the folder that it has brought, as far as podman can.

        What it has reported stands either way; the next grading removes what was left.
        """
        volume = self._volumes.pop(container, None)
        with contextlib.suppress(GraderError):
            self._run("rm", "--force", "--time=0", "--ignore", container)
        if volume is not None:
            with contextlib.suppress(GraderError):
                self._run("volume", "rm", "--force", volume)

    def source_of(self, image: str) -> str:
        """Return what `make image` has written on it; empty for an image of other make."""
        form = f'{{{{index .Labels "{SOURCE_LABEL}"}}}}'
        return self._run("image", "inspect", "--format", form, image, image=image)

    def image_id(self, image: str) -> str:
        """Return the digest of its configuration, which names those of all its layers."""
        return self._run("image", "inspect", "--format", "{{.Id}}", image, image=image)

    def _make_volume(self, limits: ContainerLimits) -> str:
        options = [f"--opt={key}={value}" for key, value in shared_folder(limits).items()]
        name = f"grader-{secrets.token_hex(8)}"
        label = f"--label={CLIENT_LABEL}={client()}"
        return self._run("volume", "create", label, *options, name)

    def _remove_stale(self) -> None:
        """Remove what clients that were killed have left."""
        wanted = ("--filter", f"label={CLIENT_LABEL}", "--format", "json")
        unstarted = ("--all", "--filter", "status=created", *wanted)
        for found in json.loads(self._run("ps", *unstarted) or "[]"):
            if has_gone(found["Labels"][CLIENT_LABEL]):
                self.remove(found["Id"])
        for found in json.loads(self._run("volume", "ls", *wanted) or "[]"):
            if has_gone(found["Labels"][CLIENT_LABEL]):
                self._run("volume", "rm", "--force", found["Name"])

    def _run(self, *arguments: str, image: str = "") -> str:
        """Return what one command of podman prints. Raises GraderError when it fails."""
        try:
            done = subprocess.run(  # noqa: S603 - our own command line
                [self._program, *arguments],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GraderError(f"podman does not answer: {error}; check it, {_INSTEAD}") from None
        if done.returncode == 0:
            return done.stdout.decode(errors="replace").strip()
        said = " ".join(done.stderr.decode(errors="replace").rpartition("Error: ")[2].split())
        if image and ("image not known" in said or "no such image" in said):
            raise GraderError(
                f"podman has no image {image!r} for this user: build it with `make image` and copy "
                f"it with `docker save {image} | podman load`, or name another one with --image"
            )
        if "newuidmap" in said:
            raise GraderError(
                "podman needs newuidmap for a user other than root: install it (Debian, Ubuntu: "
                f"`sudo apt install uidmap`), {_INSTEAD}"
            )
        raise GraderError(f"podman refused: {said[:300]}")


def flags(limits: ContainerLimits) -> list[str]:
    """Return `hardening(limits)` as podman's command line writes it, and what podman needs more."""
    written = list(_AGAINST_DEFAULTS)
    for key, value in hardening(limits).items():
        if key in _SWITCHES:
            written.append(f"{_SWITCHES[key]}={str(value).lower()}")
        elif key not in _NOT_IN_PODMAN:
            written += [f"{_OPTIONS[key]}={each}" for each in _each(key, value)]
    return written


def _each(key: str, value: Any) -> list[str]:
    """Return what a value of the host configuration is on a command line."""
    if isinstance(value, docker.types.LogConfig):
        return [str(value.type)]
    if isinstance(value, docker.types.Ulimit):
        return [f"{value.name}={value.soft}:{value.hard}"]
    if key == "sysctls":
        return [f"{name}={text}" for name, text in value.items()]
    if isinstance(value, dict):
        # podman knows no number of inodes; the container's memory limit holds for them as well.
        plain = {path: re.sub(r",nr_inodes=\d+", "", text) for path, text in value.items()}
        return [f"{path}:{text}" for path, text in plain.items()]
    if isinstance(value, list):
        return [text for each in value for text in _each(key, each)]
    return [str(value)]
