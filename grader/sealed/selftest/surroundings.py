"""What the judge can see of its container from inside, without trying anything."""

from dataclasses import dataclass
from pathlib import Path

from grader.observe.forkserver.control_group import ControlGroup
from grader.observe.forkserver.loopback import own_interfaces

_CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
HOST_IPC_NAMESPACE = "ipc:[4026531839]"
HOST_PID_NAMESPACE = "pid:[4026531836]"
HOST_CGROUP_NAMESPACE = "cgroup:[4026531835]"
"""The kernel gives these numbers to the namespaces that it starts with."""


@dataclass(frozen=True)
class Surroundings:
    """What the judge sees."""

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


def look_around() -> Surroundings:
    """Return what there is to see now."""
    group = ControlGroup.own()
    group.close()
    return Surroundings(
        status=_text(Path("/proc/self/status")),
        mountinfo=_text(Path("/proc/self/mountinfo")),
        control_group=group,
        interfaces=own_interfaces(),
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


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
