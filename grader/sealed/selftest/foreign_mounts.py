"""Whether a container holds anything of the machine's: mounts and devices that grading needs not.

A rank lists them, and says what of them is open to it: to whom else something belongs decides.
Ranks are sent this module, so it imports nothing of ours.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

_OF_THE_KERNEL = ("/proc", "/sys", "/dev/pts", "/dev/mqueue", "/dev/console")
_KINDS = {"proc", "sysfs", "tmpfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2"} | {
    "fuse.lxcfs"
}
"""Of what an engine mounts there, to show it or to hide it."""
_OF_THE_ENGINE = frozenset(
    {
        *("/", "/dev", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"),
        # The first process of a container with an init.
        *("/sbin/docker-init", "/usr/sbin/docker-init", "/run/podman-init", "/dev/init"),
        *("/run/.containerenv", "/catatonit"),
        # Folders of GitLab's runner, of which one has the submission in it.
        *("/builds", "/cache"),
    }
)
_EVERYBODYS = frozenset({"/tmp", "/var/tmp", "/run", "/run/lock", "/dev/shm"})  # noqa: S108
"""Where an engine mounts memory of the container's own, and tidied up after each run."""
SHARED_MEMORY_NUM_FILES = "nr_inodes=65536"
"""Marks the /dev/shm that `grade run` mounts: no machine's own has this limit."""
_HARMLESS_DEVICES = frozenset({(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)})
"""null, zero, full, random, urandom, tty, ptmx."""
_TERMINALS = range(136, 144)


@dataclass(frozen=True)
class Foreign:
    """Something in the container that is none of its own."""

    path: str
    is_device: bool
    opens: str
    """What a rank can do with it; empty where it can do nothing that matters."""


def foreign(mountinfo: str, ours: Sequence[str], own_folder: str) -> list[dict[str, Any]]:
    """Return the fields of what is foreign, as this process may use it."""
    found = [*_mounts(mountinfo, ours, own_folder), *_devices(Path("/dev"))]
    return [asdict(each) for each in found]


def _mounts(mountinfo: str, ours: Sequence[str], own_folder: str) -> Iterator[Foreign]:
    told: list[str] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, point = map(_unescaped, before.split()[3:5])
        kind, source, options = after.split(" ")[:3]
        # What comes with a mount that is told of goes with it.
        if point in _OF_THE_ENGINE or _is_below(point, (*ours, *told)):
            continue
        if _is_below(point, _OF_THE_KERNEL) and kind in _KINDS:
            continue
        if point in _EVERYBODYS and _is_memory_of_its_own(point, root, kind, source, options):
            continue
        opens = _opens(Path(point), own_folder)
        # Such as an empty volume, for a report that is to be fetched from it.
        if opens is not None:
            told.append(point)
            yield Foreign(point, is_device=False, opens=opens)


def _is_below(point: str, folders: Sequence[str]) -> bool:
    return any(PurePosixPath(point).is_relative_to(each) for each in folders)


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, in which a space is written as its number in octal."""
    for number in (" ", "\t", "\n", "\\"):
        path = path.replace(f"\\{ord(number):03o}", number)
    return path


def _is_memory_of_its_own(point: str, root: str, kind: str, source: str, options: str) -> bool:
    """Return whether a mount where everybody may write is the container's."""
    if point == "/dev/shm":  # noqa: S108
        # Every engine calls it that, and no machine its own.
        return source == "shm" or SHARED_MEMORY_NUM_FILES in options.split(",")
    is_fresh = (kind == "tmpfs" and root == "/") or root.endswith("/_data")  # a volume
    # The machine's /tmp may be memory as well: then only what is in it tells them apart. The
    # judge is root, and has files in there.
    return is_fresh and not _others_in(Path(point), {0, os.getuid()}, "")


def _others_in(folder: Path, users: set[int], own_folder: str) -> list[str]:
    """Return the names of what is in a folder, is not these users', and is not our own folder."""
    with os.scandir(folder) as entries:
        owners = {each: each.stat(follow_symlinks=False).st_uid for each in entries}
    return sorted(
        each.name
        for each, owner in owners.items()
        if owner not in users and each.path != own_folder
    )


def _opens(path: Path, own_folder: str) -> str | None:
    """Return what we can do with what is mounted; None where nobody can have anything in it.

    That is a folder with nothing in it, or a device that every container has: an engine that is
    not root cannot make devices, and mounts the machine's.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    may_write = os.access(path, os.W_OK)
    if not stat.S_ISDIR(mode):
        if stat.S_ISSOCK(mode):
            return "a rank can connect to it" if may_write else ""
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            return None if _is_harmless(path) else _use_of_device(path)
        return "a rank can read it" if os.access(path, os.R_OK) else ""
    try:
        others = _others_in(path, {os.getuid()}, own_folder)
    except OSError:
        # What cannot be listed may still be entered, by whoever knows a name in it.
        return "a rank can enter it" if os.access(path, os.X_OK) else ""
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        return f"a rank can list it: it contains {others[0]}{more}"
    return "" if may_write else None


def _devices(folder: Path) -> Iterator[Foreign]:
    """Yield devices beside those that every container has."""
    for parent, folders, names in os.walk(folder):
        # File systems of their own.
        folders[:] = [each for each in folders if each not in ("pts", "shm", "mqueue")]
        for name in sorted(names):
            path = Path(parent, name)
            mode = path.lstat().st_mode
            if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not (
                _is_harmless(path) and path.parent == folder
            ):
                opens = "" if _is_harmless(path) else _use_of_device(path)
                yield Foreign(str(path), is_device=True, opens=opens)


def _is_harmless(path: Path) -> bool:
    number = path.stat().st_rdev
    return (
        os.major(number) in _TERMINALS or (os.major(number), os.minor(number)) in _HARMLESS_DEVICES
    )


def _use_of_device(path: Path) -> str:
    # It is not opened: that alone may do something, as with a watchdog.
    ways = [name for name, way in (("read", os.R_OK), ("write", os.W_OK)) if os.access(path, way)]
    return f"a rank can {' and '.join(ways)} it" if ways else ""
