"""The probe of the hostile submission: tries everything, and tells what it could do.

With the modules of ATTEMPTS and what they import, it is sent to the ranks as any probes are.
"""

import ctypes
import errno
import json
import os
import signal
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import (
    foreign_mounts,
    hostile_files,
    hostile_folders,
    hostile_neighbour,
    hostile_proc,
    hostile_processes,
    hostile_system,
)
from .surroundings import look_around

ATTEMPTS = (hostile_files, hostile_processes, hostile_system)
"""Their functions `try_*` each yield the steps of one attempt."""
BETWEEN_RANKS = (hostile_neighbour,)
"""Those of ranks that are kept apart."""
BY_LANDLOCK = (hostile_folders,)
"""Those of them that nothing refuses where the kernel has no Landlock."""
BY_PROC = (hostile_proc,)
"""Likewise where /proc is the machine's, or may not be changed."""
_REFUSALS = {
    getattr(errno, name)
    for name in (
        *("EACCES", "EPERM", "ENOSYS", "EROFS", "EFBIG", "ENOENT", "ENOTDIR", "ESRCH"),
        *("EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "ENETUNREACH", "EADDRNOTAVAIL"),
    )
}
"""Errors that mean `no`. Any other is about how it was asked: the way itself was open."""
_CREATE_RULESET = 444
"""Of Landlock, on every architecture; with 1 as its last argument it tells the version."""
_PR_GET_DUMPABLE = 3
_LONGEST_LIFE_S = 60.0
_MAX_TOLD = 5


def attempt(student: Any, comm: Any, **target: Any) -> dict[str, str]:
    """Rank 0 tries everything; returns a text of JSON. The other one is there to be looked into."""
    secret = np.frombuffer(os.urandom(16), dtype=np.uint8)
    mine = np.array([os.getpid(), secret.__array_interface__["data"][0]], dtype=np.int64)
    everybodys = np.zeros((comm.size, 2), dtype=np.int64)
    comm.Allgather(mine, everybodys)
    found = {}
    if comm.rank == 0:
        peer, peer_address = map(int, everybodys[1])
        known = {**target, "scratch": str(Path.cwd()), "peer": peer, "peer_address": peer_address}
        found = {"found": json.dumps(_everything(known))}
    comm.Barrier()
    return found


def attempt_on_the_other(student: Any, comm: Any, *, shared: str) -> dict[str, str]:
    """Rank 0 tries everything on rank 1; each returns a text of JSON. Both are kept apart.

    shared: a file that all ranks may read.
    """
    Path(hostile_neighbour.KEPT).touch(mode=0o666)
    other, folder = comm.allgather((os.getpid(), str(Path.cwd())))[1]
    found: dict[str, Any] = {"users": os.getresuid(), "groups": [*os.getresgid(), *os.getgroups()]}
    if comm.rank == 0:
        target = {"other": other, "other_folder": folder, "shared": shared}
        found |= {
            "attempts": _all_outcomes((*BETWEEN_RANKS, *BY_LANDLOCK, *BY_PROC), target),
            "landlock": _landlock(),
        }
    comm.Barrier()
    return {"found": json.dumps(found)}


def take_memory(student: Any, comm: Any, *, num_bytes: int, longest_s: float) -> dict[str, str]:
    """Fill so much memory and keep it; returns only if nobody has ended us for it."""
    try:
        taken = b"x" * num_bytes
    except MemoryError:
        raise RuntimeError(f"there are no {num_bytes >> 20} MiB of memory to take here") from None
    time.sleep(longest_s)
    return {"kept": str(len(taken))}


def _everything(target: Mapping[str, Any]) -> dict[str, Any]:
    seen = look_around()
    # Before anything is left behind.
    foreign = foreign_mounts.foreign(seen.mountinfo, target["ours"], str(Path.cwd().parent))
    return {
        "foreign_mounts": foreign,
        "attempts": _all_outcomes(ATTEMPTS, target),
        "surroundings": asdict(seen),
        "dumpable": ctypes.CDLL(None).prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0),
        "users_of_mpirun": _users_of_mpirun(),
        "foreign": hostile_processes.foreign_processes(),
        "daemon": leave_daemon(),
        "files": hostile_files.leave_files(),
    }


def _all_outcomes(modules: Iterable[ModuleType], target: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: outcomes(try_(target))
        for module in modules
        for name, try_ in vars(module).items()
        if name.startswith("try_")
    }


def _landlock() -> int:
    """Return its version; negative where the kernel has none."""
    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def outcomes(steps: Any) -> dict[str, Any]:
    """Return how many steps were tried, and those that were not refused."""
    num_steps, succeeded = 0, []
    for what, act in steps:
        num_steps += 1
        try:
            act()
        except OSError as error:
            if error.errno is not None and error.errno not in _REFUSALS:
                succeeded.append(f"{what} ({errno.errorcode.get(error.errno, error.errno)})")
        except ValueError:
            # How Python says that a limit must not be raised.
            continue
        else:
            succeeded.append(what)
    left_out = [f"{len(succeeded) - _MAX_TOLD} more"] if len(succeeded) > _MAX_TOLD else []
    return {"num_steps": num_steps, "succeeded": [*succeeded[:_MAX_TOLD], *left_out]}


def leave_daemon() -> int:
    """Leave a process behind that has no parent and no session of ours; return its number."""
    waiting, telling = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            for ignored in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(ignored, signal.SIG_IGN)
            os.write(telling, str(os.getpid()).encode())
            time.sleep(_LONGEST_LIFE_S)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(telling)
    number = os.read(waiting, 16)
    os.close(waiting)
    return int(number)


def _users_of_mpirun() -> list[str]:
    """Return the real user of each process of mpirun's."""
    users = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().strip() in (
                *("mpirun", "prterun", "prte", "prted"),
            ):
                lines = (entry / "status").read_text().splitlines()
                users.append(next(line.split()[1] for line in lines if line.startswith("Uid:")))
        except OSError:
            continue
    return users
