"""What can be seen of a container from inside, without trying anything: by the judge, by a rank."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

_CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
_UNLIMITED_FROM = 1 << 60
"""Version 1 writes `no limit` as the largest number of pages."""
HOST_IPC_NAMESPACE = "ipc:[4026531839]"
HOST_PID_NAMESPACE = "pid:[4026531836]"
HOST_CGROUP_NAMESPACE = "cgroup:[4026531835]"
"""The kernel gives these numbers to the namespaces that it starts with."""


@dataclass(frozen=True)
class ControlGroup:
    """Limits of the container; None for one that is not set, or cannot be."""

    memory_num_bytes: int | None
    swap_num_bytes: int | None
    num_processes: int | None


@dataclass(frozen=True)
class Surroundings:
    """What one process sees."""

    status: str
    """Text of /proc/self/status."""
    mountinfo: str
    """Text of /proc/self/mountinfo."""
    control_group: ControlGroup
    interfaces: tuple[str, ...]
    """Names of the network interfaces that are up."""
    ipc_namespace: str
    pid_namespace: str
    cgroup_namespace: str
    has_swap: bool
    max_ended_connections: str
    """How many connections that have ended the kernel keeps for a while; empty if it is unknown."""


def read_back(data: Mapping[str, Any]) -> Surroundings:
    """Return what a rank has seen, from its fields."""
    group = ControlGroup(**data["control_group"])
    interfaces = tuple(data["interfaces"])
    return Surroundings(**{**data, "control_group": group, "interfaces": interfaces})


def look_around() -> Surroundings:
    """Return what there is to see now."""
    mountinfo = _text(Path("/proc/self/mountinfo"))
    groups = _text(Path("/proc/self/cgroup"))
    return Surroundings(
        status=_text(Path("/proc/self/status")),
        mountinfo=mountinfo,
        control_group=control_group(mountinfo, groups, _text),
        interfaces=interfaces(_text(Path("/proc/net/dev")), _text),
        ipc_namespace=str(Path("/proc/self/ns/ipc").readlink()),
        pid_namespace=str(Path("/proc/self/ns/pid").readlink()),
        cgroup_namespace=str(Path("/proc/self/ns/cgroup").readlink()),
        has_swap=len(_text(Path("/proc/swaps")).splitlines()) > 1,
        max_ended_connections=_text(Path("/proc/sys/net/ipv4/tcp_max_tw_buckets")).strip(),
    )


def status_field(status: str, name: str) -> str:
    """Return the value of a line of /proc/PID/status; empty when there is no such line."""
    lines = (line.partition(":") for line in status.splitlines())
    return next((value.strip() for key, _, value in lines if key == name), "")


def capabilities(status: str, name: str) -> frozenset[str]:
    """Return the names of a set of capabilities, such as CapBnd, in /proc/PID/status."""
    bits = int(status_field(status, name) or "0", 16)
    return frozenset(
        _CAPABILITIES[bit] if bit < len(_CAPABILITIES) else f"number {bit}"
        for bit in range(bits.bit_length())
        if bits >> bit & 1
    )


def mount_options(mountinfo: str, path: str) -> frozenset[str] | None:
    """Return the options of what is mounted last at exactly this path; None if nothing is."""
    found = None
    for line in mountinfo.splitlines():
        fields = line.split()
        if fields[4] == path:
            found = frozenset(fields[5].split(","))
    return found


def shows_all_groups(seen: Surroundings) -> bool:
    """Return whether the machine's tree of control groups is in sight, where that is not usual.

    Under version 1 engines leave containers in the machine's namespace; what is mounted there is
    their own groups only.
    """
    kinds = [line.partition(" - ")[2].split()[0] for line in seen.mountinfo.splitlines()]
    is_second_version = "cgroup2" in kinds and "cgroup" not in kinds
    return is_second_version and seen.cgroup_namespace == HOST_CGROUP_NAMESPACE


def control_group(mountinfo: str, groups: str, read: Callable[[Path], str]) -> ControlGroup:
    """Return the limits of the control group that these texts of /proc/self place us in.

    groups: text of /proc/self/cgroup. read: returns a file's text, empty where there is none.
    """
    memory = _folder(mountinfo, groups, "memory")
    processes = _folder(mountinfo, groups, "pids")
    if memory is not None and memory.is_first_version:
        limit = _limit(read(memory.path / "memory.limit_in_bytes"))
        both = _limit(read(memory.path / "memory.memsw.limit_in_bytes"))
        swap = both - limit if both is not None and limit is not None else None
    elif memory is not None:
        limit = _limit(read(memory.path / "memory.max"))
        swap = _limit(read(memory.path / "memory.swap.max"))
    else:
        limit, swap = None, None
    number = _limit(read(processes.path / "pids.max")) if processes is not None else None
    return ControlGroup(limit, swap, number)


@dataclass(frozen=True)
class _Folder:
    path: Path
    is_first_version: bool


def _folder(mountinfo: str, groups: str, controller: str) -> _Folder | None:
    """Return where the kernel shows our control group of one controller."""
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        is_first_version = controllers != ""
        if is_first_version and controller not in controllers.split(","):
            continue
        for mount in mountinfo.splitlines():
            fields, _, source = mount.partition(" - ")
            root, point = fields.split()[3:5]
            kind, _, options = source.split(" ", 2)
            if kind != ("cgroup" if is_first_version else "cgroup2"):
                continue
            if is_first_version and controller not in options.split(","):
                continue
            below = PurePosixPath(group)
            own = below.relative_to(root) if below.is_relative_to(root) else PurePosixPath()
            return _Folder(Path(point) / own, is_first_version)
    return None


def _limit(text: str) -> int | None:
    number = int(text) if text.strip().isdigit() else _UNLIMITED_FROM
    return number if number < _UNLIMITED_FROM else None


def interfaces(table: str, read: Callable[[Path], str]) -> tuple[str, ...]:
    """Return the interfaces of a text of /proc/net/dev that are up.

    A fresh network namespace may hold tunnels that are down: they lead nowhere.
    """
    names = [line.partition(":")[0].strip() for line in table.splitlines()[2:]]
    flags = {name: read(Path(f"/sys/class/net/{name}/flags")) or "0x1" for name in names}
    return tuple(name for name in names if int(flags[name], 16) & 1)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
