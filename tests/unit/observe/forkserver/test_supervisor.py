"""The supervisor: nothing of a run's user outlives it, whoever else is killed meanwhile."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.observe.forkserver.control_group import ControlGroup
from grader.observe.forkserver.processes import owned_by
from grader.observe.forkserver.run_users import RunUsers
from grader.observe.forkserver.supervisor import RunSupervisor, SupervisedRun
from grader.observe.run_control.users import run_uids

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
def run(open_to_all):
    scratch = open_to_all / "run" / "scratch"
    scratch.mkdir(parents=True)
    scratch.chmod(0o777)
    return SupervisedRun(RunUsers(next(run_uids()), 2), scratch, 1 << 40, ControlGroup())


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


def exit_code(supervisor) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(supervisor.pid, 0)[1])


def test_daemons_are_ended_and_files_removed(run):
    """Sessions of their own, ignored signals, pids that change: none is left, and no file."""
    left = [
        run.scratch / "own",
        Path(f"/tmp/left-{run.users.first}"),
        Path(f"/dev/shm/{run.users.first}"),
    ]
    supervisor = RunSupervisor(run)
    script = "".join(f"mkdir -p {path}/a/b; chmod 0 {path}/a;" for path in left) + DAEMONS
    process = start(run.users.first, script)
    assert len(owned_by(run.users.all)) >= 3
    supervisor.shut_down()
    assert exit_code(supervisor) == 0
    assert finish(process) == -signal.SIGKILL
    assert owned_by(run.users.all) == []
    assert not any(path.exists() for path in left)


def test_no_process_of_the_run_may_signal_its_keeper(run):
    """Not while it waits, and not while it acts for the run's user."""
    supervisor = RunSupervisor(run)
    attack = f"echo started; while :; do kill -9 {supervisor.pid} 2>/dev/null && echo hit; done"
    process = start(run.users.first, attack)
    time.sleep(0.2)
    supervisor.shut_down()
    assert exit_code(supervisor) == 0
    assert process.stdout.read() == b""
    finish(process)


def test_the_death_of_the_forkserver_ends_the_run(run):
    """Whoever holds the other end of the connection is gone: the supervisor needs no order."""
    forkserver = os.fork()
    if forkserver == 0:
        supervisor = RunSupervisor(run)
        (run.scratch / "kept").write_text(str(supervisor.pid))
        signal.pause()
    assert _until((run.scratch / "kept").exists)
    process = start(run.users.first)
    os.kill(forkserver, signal.SIGKILL)
    os.waitpid(forkserver, 0)
    assert finish(process) == -signal.SIGKILL
    assert _until(lambda: owned_by(run.users.all) == [])


@pytest.mark.parametrize("kind", ["memory", "processes"])
def test_excess_is_told_and_ends_the_processes(run, tmp_path, kind):
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
    watched = SupervisedRun(
        run.users, run.scratch, 500 * MIB, ControlGroup.own(group, group / "membership")
    )
    supervisor = RunSupervisor(watched)
    process = start(run.users.first)
    assert select.select([supervisor.connection], [], [], 0.2)[0] == []
    if kind == "memory":
        count(group / "memory.current", 601 * MIB)
    else:
        count(group / "pids.current", 86)
    assert select.select([supervisor.connection], [], [], DEADLINE_S)[0]
    expected = {
        "memory": {"kind": "memory", "used": 501 * MIB, "allowed": 500 * MIB},
        "processes": {"kind": "processes", "used": 86, "allowed": 85},
    }
    assert supervisor.said() == [{"excess": expected[kind]}]
    assert finish(process) == -signal.SIGKILL
    # The supervisor itself has by now become this user in part.
    assert _until(lambda: owned_by(run.users.all) == [supervisor.pid])
    supervisor.shut_down()
    assert exit_code(supervisor) == 0


def count(counter: Path, value: int) -> None:
    """Change it in one go, as the kernel does; a file written anew is empty for a moment."""
    with counter.open("r+") as file:
        file.write(f"{value}\n")


def test_a_share_of_the_container_is_kept_for_the_judge(run, tmp_path):
    """Where the container has less than a run may use, 80 % of it is the limit."""
    group = tmp_path / "group"
    group.mkdir()
    (group / "memory.current").write_text(f"{100 * MIB}\n")
    (group / "memory.max").write_text(f"{400 * MIB}\n")
    watched = SupervisedRun(
        run.users, run.scratch, 500 * MIB, ControlGroup.own(group, group / "membership")
    )
    supervisor = RunSupervisor(watched)
    count(group / "memory.current", 321 * MIB)
    assert select.select([supervisor.connection], [], [], DEADLINE_S)[0]
    assert supervisor.said() == [
        {"excess": {"kind": "memory", "used": 221 * MIB, "allowed": 220 * MIB}}
    ]
    supervisor.shut_down()
    assert exit_code(supervisor) == 0


ENDING = """
import json, os, signal, sys
from pathlib import Path
from grader.observe.forkserver.confinement import adopt_orphans
from grader.observe.forkserver.control_group import ControlGroup
from grader.observe.forkserver.supervisor import end_sealed
from grader.observe.forkserver.run_users import RunUsers
from grader.observe.forkserver.supervisor import SupervisedRun, RunSupervisor
adopt_orphans()
run = SupervisedRun(RunUsers(int(sys.argv[1]), 2), Path(sys.argv[2]), 1 << 40, ControlGroup())
supervisor = RunSupervisor(run)
if os.fork() == 0:
    os.setresuid(run.users.first, run.users.first, run.users.first)
    os.execvp("sh", ["sh", "-c", sys.argv[3]])
os.kill(supervisor.pid, signal.SIGKILL)
print(json.dumps(end_sealed(supervisor, run, run.scratch.parent)))
"""


def test_a_keeper_that_was_killed_has_a_successor(run):
    """The run ends all the same, and its folder goes with it."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(run.users.first), str(run.scratch), DAEMONS],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) is True
    assert owned_by(run.users.all) == []
    assert not run.scratch.parent.exists()


def _until(holds) -> bool:
    until_s = time.monotonic() + DEADLINE_S
    while not holds() and time.monotonic() < until_s:
        time.sleep(0.01)
    return bool(holds())
