"""Runs in the container around `grade`: looks at what is there before and after, as root.

`python -I inspector.py grade ARGUMENTS...`; standard input goes to `grade`. Prints one JSON object:
`stdout` and `exit_code` of `grade`, `before` and `after`. Imports nothing of grader.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

_OPEN_TO_ALL = [
    Path(each)
    for each in (
        *("/tmp", "/dev/shm", "/var/tmp", "/run", "/run/lock", "/dev/mqueue", "/judge", "/mnt"),
    )
]
_PIDS_CURRENT = [Path("/sys/fs/cgroup", each) for each in ("pids/pids.current", "pids.current")]
_MAX_FILES = 1000
_PATIENCE_S = 10.0
_MAX_STDOUT_NUM_BYTES = 32 << 20


def main():
    """Plant a canary, look, let `grade` work, look again, tell."""
    Path("/judge/canary").write_text(os.environ.pop("CANARY_OF_JUDGE_FILE", "none"))
    environment = {**os.environ, "CANARY": os.environ.pop("CANARY_OF_JUDGE_ENVIRONMENT", "none")}
    before = look()
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, env=environment) as judge:
        stdout = judge.stdout.read(_MAX_STDOUT_NUM_BYTES)
        judge.stdout.close()
    after = look()
    # What has ended waits to be reaped by process 1, which does so at once, or never.
    until_s = time.monotonic() + _PATIENCE_S
    while after["num_pids"] > before["num_pids"] and time.monotonic() < until_s:
        time.sleep(0.02)
        after["num_pids"] = num_pids()
    print(
        json.dumps(
            {
                "stdout": stdout.decode(errors="replace"),
                "exit_code": judge.returncode,
                "before": before,
                "after": after,
            }
        )
    )


def look():
    """Return what exists in this container."""
    return {
        "num_pids": num_pids(),
        "processes": foreign_processes(),
        "files": {str(folder): files(folder) for folder in _OPEN_TO_ALL},
        "ipc": ipc(),
    }


def num_pids():
    """Return how many processes and threads the container has, zombies included."""
    for path in _PIDS_CURRENT:
        if path.exists():
            return int(path.read_text())
    raise SystemExit("inspector: no pids.current found in /sys/fs/cgroup")


def foreign_processes():
    """Return `name (users, state S)` of every process that is not root's in all respects."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            owner = entry.stat().st_uid
            head, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
            status = (entry / "status").read_text(errors="replace")
        except OSError:
            continue
        # The folder of a process that may not be looked into is root's: its users tell.
        users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        if owner or set(users) != {"0"}:
            name = head.partition("(")[2]
            found.append(f"{name} (users {' '.join(users)}, state {rest.split()[0]})")
    return found


def files(folder):
    """Return the owner of each thing in a folder, as far down as we may look."""
    found = {}
    for parent, folders, names in os.walk(folder):
        for path in [Path(parent, name) for name in [*folders, *names]]:
            with contextlib.suppress(OSError):
                found[ascii(str(path))] = path.lstat().st_uid
        if len(found) > _MAX_FILES:
            break
    return found


def ipc():
    """Return the System V objects of this container, one line each."""
    lines = []
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(OSError):
            lines += Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    return lines


main()
