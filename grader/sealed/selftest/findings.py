"""Turns what the hostile submission could do, and what the judge sees, into protections."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.model.errors import GraderError
from grader.sealed.selftest import hostile_attempts
from grader.sealed.selftest.foreign_mounts import Foreign
from grader.sealed.selftest.protections import Protection
from grader.sealed.selftest.surroundings import (
    HOST_IPC_NAMESPACE,
    HOST_PID_NAMESPACE,
    Surroundings,
    capabilities,
    mount_options,
    shows_all_groups,
    status_field,
)

_NEEDED = frozenset({"SETUID", "SETGID", "KILL"})
_USUAL = _NEEDED | {
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETPCAP", "NET_BIND_SERVICE", "NET_RAW"),
    *("SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP"),
}
"""What Docker gives every container."""
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - where ranks write
_NO_LANDLOCK = "it needs Linux 5.13 or newer, and a profile that allows it"


def protections(
    found: Mapping[str, Any], seen: Surroundings, judge: int, attempts: Sequence[str]
) -> tuple[Protection, ...]:
    """Return every protection.

    found: what the probe told. seen: what the judge sees. judge: its process number. attempts:
    the names of those that it was to make. Raises GraderError when it left something out, which
    no submission can bring about.
    """
    if judge not in found["foreign"]:
        raise GraderError(
            "the selftest did not find the judge's process, so its attacks on that process were "
            "not tried"
        )
    return (
        *_attempted(found["attempts"], attempts),
        *_of_the_ranks(found, seen.status),
        *_of_the_judge(seen.status),
        *_of_the_engine(seen),
        *_of_the_container(seen),
        *_of_mounts([Foreign(**each) for each in found["foreign_mounts"]], seen.ipc_namespace),
    )


def _attempted(outcomes: Mapping[str, Any], names: Sequence[str]) -> Iterator[Protection]:
    """Yield one protection for each attempt, whose docstring says what has to hold."""
    for name in names:
        attempt = getattr(hostile_attempts, name)
        num_steps, succeeded = outcomes[name]["num_steps"], outcomes[name]["succeeded"]
        if not num_steps:
            raise GraderError(f"the selftest tried nothing in {name}")
        yield _essential(
            attempt.__doc__.splitlines()[0].rstrip("."),
            not succeeded,
            f"not refused: {', '.join(succeeded)}"
            if succeeded
            else f"{num_steps} attempts, all refused",
        )


def _of_the_ranks(found: Mapping[str, Any], judges: str) -> Iterator[Protection]:
    """Yield what the kernel says of a rank; judges: text of /proc/PID/status, as a rank's."""
    status = found["status"]
    user, group = status_field(status, "Uid").split(), status_field(status, "Gid").split()
    groups = status_field(status, "Groups").split()
    is_nobody_else = "0" not in {*user, *group} and not groups
    yield _essential(
        "Ranks run as another user, not as root",
        is_nobody_else,
        f"user {user[0]}, groups {' '.join(groups) or 'none'}",
    )
    powers = [name for kind in ("CapPrm", "CapAmb") for name in sorted(capabilities(status, kind))]
    yield _essential("Ranks have no capabilities", not powers, ", ".join(powers) or "none")
    privileges = status_field(status, "NoNewPrivs")
    yield _essential("Ranks gain no new privileges", privileges == "1", f"NoNewPrivs {privileges}")
    mode, filters = status_field(status, "Seccomp"), status_field(status, "Seccomp_filters")
    ours = status_field(judges, "Seccomp_filters")
    # Before Linux 5.9 the kernel does not say how many; what they refuse has been tried.
    has_own = not filters or int(filters) > int(ours or "0")
    yield _essential(
        "Ranks have their own system call filter",
        mode == "2" and has_own,
        f"Seccomp {mode}, filters: {filters or 'unknown'}; the judge's: {ours or 'unknown'}",
    )
    yield _essential(
        "Ranks hide their memory from others",
        found["dumpable"] == 0,
        f"dumpable {found['dumpable']}",
    )
    version = found["landlock"]
    yield Protection(
        "The kernel has Landlock, which keeps ranks out of each other's files",
        version > 0,
        f"Landlock {version}" if version > 0 else _NO_LANDLOCK,
        is_essential=False,
    )


def _of_the_judge(status: str) -> Iterator[Protection]:
    """Yield what the judge itself may do, which everything else descends from."""
    powers = capabilities(status, "CapBnd")
    beyond = sorted(powers - _USUAL)
    yield _essential(
        "The container has no unusual capabilities",
        not beyond,
        f"it also has {_some(beyond)}; start it without --privileged and --cap-add"
        if beyond
        else "none beyond Docker's own",
    )
    spare = sorted(powers - _NEEDED)
    yield Protection(
        "The judge has only the capabilities it needs",
        not spare and powers >= _NEEDED,
        f"it also has {_some(spare)}" if spare else ", ".join(sorted(powers)),
        is_essential=False,
        flag="--cap-drop ALL --cap-add SETUID --cap-add SETGID --cap-add KILL",
    )
    privileges = status_field(status, "NoNewPrivs")
    yield _by_flag(
        "No process in the container gains privileges",
        privileges == "1",
        f"NoNewPrivs {privileges}",
        "--security-opt no-new-privileges",
    )


def _of_the_engine(seen: Surroundings) -> Iterator[Protection]:
    """Yield what an engine does for every container unless it is told not to."""
    mode = status_field(seen.status, "Seccomp")
    yield _by_flag(
        "The engine filters system calls",
        mode == "2",
        f"Seccomp {mode or 'unknown'}",
        "no --security-opt seccomp=unconfined",
    )
    settings = mount_options(seen.mountinfo, "/proc/sys") or frozenset()
    yield _by_flag(
        "The kernel's settings are read-only",
        "ro" in settings,
        f"/proc/sys is {'read-only' if 'ro' in settings else 'writable for root'}",
        "no --security-opt systempaths=unconfined",
    )
    yield _by_flag(
        "Control groups are the container's own",
        not shows_all_groups(seen),
        seen.cgroup_namespace,
        "no --cgroupns host",
    )


def _of_the_container(seen: Surroundings) -> Iterator[Protection]:
    """Yield what the flags of the container bring."""
    root = mount_options(seen.mountinfo, "/") or frozenset()
    yield _by_flag(
        "The image cannot be changed",
        "ro" in root,
        f"it is mounted {'read-only' if 'ro' in root else 'writable'}",
        "--read-only",
    )
    programs = [
        folder
        for folder in _WRITABLE
        if "noexec" not in (mount_options(seen.mountinfo, folder) or ())
    ]
    yield _by_flag(
        "Programs that a submission writes do not run",
        not programs,
        f"they run in {' and '.join(programs)}"
        if programs
        else f"{' and '.join(_WRITABLE)} refuse them",
        "--tmpfs /tmp:rw,noexec,nosuid,nodev",
    )
    yield _by_flag(
        "Closed connections leave no port in use",
        seen.max_ended_connections == "0",
        f"the kernel keeps {seen.max_ended_connections or 'an unknown number'} of these",
        "--sysctl net.ipv4.tcp_max_tw_buckets=0",
    )
    yield from _limits(seen)
    others = [name for name in seen.interfaces if name != "lo"]
    up = ", ".join(seen.interfaces) or "none"
    yield _by_flag(
        ("The container has only the loopback network"), not others, f"up: {up}", "--network none"
    )
    has_own_ipc = seen.ipc_namespace != HOST_IPC_NAMESPACE
    yield _by_flag(
        "Shared memory is the container's own", has_own_ipc, seen.ipc_namespace, "--ipc private"
    )
    has_own_processes = seen.pid_namespace != HOST_PID_NAMESPACE
    yield _by_flag(
        "Process numbers are the container's own",
        has_own_processes,
        seen.pid_namespace,
        "no --pid host",
    )


def _of_mounts(foreign: Sequence[Foreign], ipc_namespace: str) -> Iterator[Protection]:
    """Yield whether there is anything of the machine's, first what a rank can use of it."""
    is_open = [each for each in foreign if each.opens]
    yield Protection(
        "Ranks cannot access the machine's files",
        not is_open,
        _some([f"{each.path}: {each.opens}" for each in is_open]) or "nothing is open",
        is_essential=True,
        flag=_without(is_open, ipc_namespace),
    )
    others = [each for each in foreign if not each.opens]
    yield _by_flag(
        "The container mounts only what grading needs",
        not others,
        _some([f"{each.path}, closed to the ranks or empty" for each in others])
        or "no other mounts",
        _without(others, ipc_namespace),
    )


def _without(foreign: Sequence[Foreign], ipc_namespace: str) -> str:
    named = [f"{'--device' if each.is_device else '-v'} {each.path}" for each in foreign]
    if ipc_namespace == HOST_IPC_NAMESPACE:
        named = [name.replace("-v /dev/shm", "--ipc host") for name in named]
    return f"no {' '.join(named)}" if named else ""


def _limits(seen: Surroundings) -> Iterator[Protection]:
    group = seen.control_group
    has_no_swap = group.swap_limit_num_bytes == 0 or (
        group.swap_limit_num_bytes is None and not seen.has_swap
    )
    memory = (
        f"{group.memory_limit_num_bytes >> 20} MiB" if group.memory_limit_num_bytes else "unlimited"
    )
    swap = (
        "unlimited"
        if group.swap_limit_num_bytes is None
        else f"{group.swap_limit_num_bytes >> 20} MiB"
    )
    yield _by_flag(
        "Memory is limited, and swap is off",
        group.memory_limit_num_bytes is not None and has_no_swap,
        f"memory {memory}, swap {swap if seen.has_swap or swap != 'unlimited' else 'none here'}",
        "--memory 4g --memory-swap 4g",
    )
    number = group.max_processes
    yield _by_flag(
        "The number of processes is limited",
        number is not None,
        "unlimited" if number is None else f"at most {number}",
        "--pids-limit 512",
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown}, and {len(names) - 4} more"


def _essential(name: str, holds: bool, found: str) -> Protection:
    return Protection(name, holds, found, is_essential=True)


def _by_flag(name: str, holds: bool, found: str, flag: str) -> Protection:
    return Protection(name, holds, found, is_essential=False, flag=flag)
