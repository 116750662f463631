"""The keeper: nothing of a run's user outlives it, whoever else is killed meanwhile."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.runner.users import run_uids
from grader.runner.zygote.control_group import ControlGroup
from grader.runner.zygote.keeper import Charge, Keeper
from grader.runner.zygote.processes import owned_by

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="becomes other users")
DEADLINE_S = 60
MIB = 1 << 20
DAEMONS = """
trap '' TERM HUP INT
setsid sh -c 'while :; do sleep 1000; done' &
setsid sh -c 'while :; do setsid sleep 0.01 & wait; done' &
echo started
wait
"""


@pytest.fixture
def charge(tmp_path):
    for folder in [tmp_path, *tmp_path.parents][:-1]:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    scratch = tmp_path / "run" / "scratch"
    scratch.mkdir(parents=True)
    scratch.chmod(0o777)
    return Charge(next(run_uids()), scratch, 1 << 40, ControlGroup())


def start(uid: int, script: str = DAEMONS) -> subprocess.Popen[bytes]:
    """Start a shell of another user; return when it has said something."""
    process = subprocess.Popen(
        ["sh", "-c", script], user=uid, group=uid, extra_groups=[], cwd="/", stdout=subprocess.PIPE
    )
    assert process.stdout.readline()
    return process


def finish(process) -> int:
    status = process.wait(DEADLINE_S)
    process.stdout.close()
    return status


def exit_code(keeper) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(keeper.pid, 0)[1])


def test_daemons_are_ended_and_files_removed(charge):
    """Sessions of their own, ignored signals, pids that change: none is left, and no file."""
    left = [charge.scratch / "own", Path(f"/tmp/left-{charge.uid}"), Path(f"/dev/shm/{charge.uid}")]
    keeper = Keeper(charge)
    script = "".join(f"mkdir -p {path}/a/b; chmod 0 {path}/a;" for path in left) + DAEMONS
    process = start(charge.uid, script)
    assert len(owned_by(charge.uid)) >= 3
    keeper.dismiss()
    assert exit_code(keeper) == 0
    assert finish(process) == -signal.SIGKILL
    assert owned_by(charge.uid) == []
    assert not any(path.exists() for path in left)


def test_no_process_of_the_run_may_signal_its_keeper(charge):
    """Not while it waits, and not while it acts for the run's user."""
    keeper = Keeper(charge)
    attack = f"echo started; while :; do kill -9 {keeper.pid} 2>/dev/null && echo hit; done"
    process = start(charge.uid, attack)
    time.sleep(0.2)
    keeper.dismiss()
    assert exit_code(keeper) == 0
    assert process.stdout.read() == b""
    finish(process)


def test_the_death_of_the_zygote_ends_the_run(charge):
    """Whoever holds the other end of the connection is gone: the keeper needs no order."""
    zygote = os.fork()
    if zygote == 0:
        keeper = Keeper(charge)
        (charge.scratch / "kept").write_text(str(keeper.pid))
        signal.pause()
    assert _until((charge.scratch / "kept").exists)
    process = start(charge.uid)
    os.kill(zygote, signal.SIGKILL)
    os.waitpid(zygote, 0)
    assert finish(process) == -signal.SIGKILL
    assert _until(lambda: owned_by(charge.uid) == [])


@pytest.mark.parametrize("kind", ["memory", "processes"])
def test_excess_is_told_and_ends_the_processes(charge, tmp_path, kind):
    """The container's own counters decide; what was used is told before the first one dies."""
    group = tmp_path / "group"
    group.mkdir()
    counters = {
        "memory.current": 100 * MIB,
        "memory.max": 1000 * MIB,
        "memory.stat": "inactive_file 0",
        "pids.current": 10,
        "pids.max": 100,
    }
    for name, value in counters.items():
        (group / name).write_text(f"{value}\n")
    watched = Charge(
        charge.uid, charge.scratch, 500 * MIB, ControlGroup.own(group, group / "membership")
    )
    keeper = Keeper(watched)
    process = start(charge.uid)
    assert select.select([keeper.connection], [], [], 0.2)[0] == []
    if kind == "memory":
        count(group / "memory.current", 601 * MIB)
    else:
        count(group / "pids.current", 86)
    assert select.select([keeper.connection], [], [], DEADLINE_S)[0]
    expected = {
        "memory": {"kind": "memory", "used": 501 * MIB, "allowed": 500 * MIB},
        "processes": {"kind": "processes", "used": 86, "allowed": 85},
    }
    assert keeper.said() == [{"excess": expected[kind]}]
    assert finish(process) == -signal.SIGKILL
    # The keeper itself has by now become this user in part.
    assert _until(lambda: owned_by(charge.uid) == [keeper.pid])
    keeper.dismiss()
    assert exit_code(keeper) == 0


def count(counter: Path, value: int) -> None:
    """Change it in one go, as the kernel does; a file written anew is empty for a moment."""
    with counter.open("r+") as file:
        file.write(f"{value}\n")


def test_a_share_of_the_container_is_kept_for_the_judge(charge, tmp_path):
    """Where the container has less than a run may use, 80 % of it is the limit."""
    group = tmp_path / "group"
    group.mkdir()
    (group / "memory.current").write_text(f"{100 * MIB}\n")
    (group / "memory.max").write_text(f"{400 * MIB}\n")
    watched = Charge(
        charge.uid, charge.scratch, 500 * MIB, ControlGroup.own(group, group / "membership")
    )
    keeper = Keeper(watched)
    # The keeper has to have seen how much there was before.
    select.select([keeper.connection], [], [], 0.5)
    count(group / "memory.current", 321 * MIB)
    assert select.select([keeper.connection], [], [], DEADLINE_S)[0]
    assert keeper.said() == [
        {"excess": {"kind": "memory", "used": 221 * MIB, "allowed": 220 * MIB}}
    ]
    keeper.dismiss()
    assert exit_code(keeper) == 0


ENDING = """
import json, os, signal, sys
from pathlib import Path
from grader.runner.zygote.confinement import adopt_orphans
from grader.runner.zygote.control_group import ControlGroup
from grader.runner.zygote.ending import end_sealed
from grader.runner.zygote.keeper import Charge, Keeper
adopt_orphans()
charge = Charge(int(sys.argv[1]), Path(sys.argv[2]), 1 << 40, ControlGroup())
keeper = Keeper(charge)
if os.fork() == 0:
    os.setresuid(charge.uid, charge.uid, charge.uid)
    os.execvp("sh", ["sh", "-c", sys.argv[3]])
os.kill(keeper.pid, signal.SIGKILL)
print(json.dumps(end_sealed(keeper, charge, charge.scratch.parent)))
"""


def test_a_keeper_that_was_killed_has_a_successor(charge):
    """The run ends all the same, and its folder goes with it."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(charge.uid), str(charge.scratch), DAEMONS],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) is True
    assert owned_by(charge.uid) == []
    assert not charge.scratch.parent.exists()


def _until(holds) -> bool:
    until_s = time.monotonic() + DEADLINE_S
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.01)
    return bool(holds())
