"""A zygote that is not the judge's child: started by order, by the one judge that may."""

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

import pytest
from launching import run, values

import grader
from grader.errors import GraderError, RanksGone
from grader.runner import rank_host
from grader.runner.fork_server import ForkServer
from grader.runner.rank_host import ContainerHost

GRADER = Path(grader.__file__).parent
LIMIT_S = 60


@pytest.fixture
def folder():
    """Return a folder with a name short enough for a socket, which every user may enter."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o711)
        yield made


@pytest.fixture
def listener(folder):
    """Start what the ranks' container runs."""
    program = [str(GRADER / "zygote" / "__main__.py"), "--listen", str(folder)]
    process = subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", *program),
            *(sysconfig.get_path("purelib"), str(GRADER / "rank")),
        ],
        stdin=subprocess.PIPE,
    )
    yield process
    process.kill()
    process.wait()
    process.stdin.close()


def test_runs_go_through_the_shared_folder(folder, listener):
    """One connection serves run after run; all that the ranks see lies in the folder."""
    with ForkServer(host=ContainerHost(folder)) as server:
        assert values(run("def go(comm): return comm.rank", server=server)) == [0.0, 1.0]
        # Not as a path: those of a grading are left out of what a student reads.
        where = "import os\ndef go(comm): raise ValueError(os.getcwd().replace('/', '|'))"
        failure = run(where, server=server).failure
        assert failure is not None and str(folder).replace("/", "|") in failure.message
    assert [path.name for path in folder.iterdir()] == ["zygote.sock"]


def test_a_zygote_that_died_is_replaced_on_the_same_connection(folder, listener):
    """The judge hears its last words; the next zygote serves the next run."""
    there = ContainerHost(folder)
    said = pytest.raises(GraderError, match="No module named 'no_such_module_here'")
    with ForkServer(["no_such_module_here"], there) as server, said:
        run("def go(comm): return 1", server=server)
    with ForkServer(host=there) as server:
        assert values(run("def go(comm): return 1", server=server)) == [1.0, 1.0]
    assert listener.poll() is None


def test_it_ends_with_its_judge(folder, listener):
    """The judge is killed: the process goes, and so its container, and the run with it."""
    judge = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import pathlib, sys, time; from grader.runner.fork_server import ForkServer\n"
            "from grader.runner.rank_host import ContainerHost\n"
            "server = ForkServer(host=ContainerHost(pathlib.Path(sys.argv[1])))\n"
            "server._get_ready(); print('started', flush=True); time.sleep(1000)",
            str(folder),
        ],
        stdout=subprocess.PIPE,
    )
    assert judge.stdout.readline() == b"started\n"
    judge.kill()
    judge.wait()
    judge.stdout.close()
    assert listener.wait(LIMIT_S) == 0


def test_it_ends_with_its_client_when_no_judge_ever_came(folder, listener):
    """The end of its standard input is the end of `grade run`."""
    wait_for_socket(folder)
    listener.stdin.close()
    assert listener.wait(LIMIT_S) == 0


def test_a_container_that_has_ended_is_a_failure_of_the_machine(folder, listener):
    """Noticed at once, by what is running and by whatever would be started afterwards."""
    there = ContainerHost(folder)
    server = ForkServer(host=there)
    assert values(run("def go(comm): return 1", server=server)) == [1.0, 1.0]
    listener.send_signal(signal.SIGKILL)
    listener.wait()
    server.close()
    with pytest.raises(RanksGone, match="the container of the ranks has ended"):
        there.start({}, [])


def test_a_run_whose_container_is_killed_is_no_run_that_failed(folder, listener):
    """Whoever grades must not take it for one: another container is to take it up."""
    source = "import time\ndef go(comm): time.sleep(1000)"
    timer = threading.Timer(2.0, lambda: kill_with_children(listener))
    with ForkServer(host=ContainerHost(folder)) as server:
        timer.start()
        with pytest.raises(RanksGone, match="the container of the ranks has ended"):
            run(source, server=server)


def test_nobody_but_the_judge_may_connect(folder, listener):
    """Another user is not served, whatever the rights of the socket's file."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    path = wait_for_socket(folder)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    stranger = os.fork()
    if stranger == 0:
        status = 1
        try:
            os.setresuid(54_321, 54_321, 54_321)
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(path))
            connection.settimeout(LIMIT_S)
            status = len(connection.recv(1))
        finally:
            os._exit(status)
    assert os.waitpid(stranger, 0)[1] == 0
    with ForkServer(host=ContainerHost(folder)) as server:
        assert values(run("def go(comm): return 1", server=server)) == [1.0, 1.0]


def test_a_stranger_at_the_socket_is_not_the_zygote(folder, monkeypatch):
    """The judge looks whom it has reached before it hands over anything."""
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(folder / "zygote.sock"))
        stranger.listen(1)
        monkeypatch.setattr(os, "getuid", lambda: 54_321)
        with pytest.raises(GraderError, match="somebody else answers"):
            ContainerHost(folder).start({}, [])


def test_no_container_is_said_so(folder, monkeypatch):
    """With the image that is expected there."""
    monkeypatch.setattr(rank_host, "_CONNECT_LIMIT_S", 0.1)
    with pytest.raises(GraderError, match=r"did not answer.*grade-ranks"):
        ContainerHost(folder).start({}, [])


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Do what the end of a container does."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    process.kill()
    for child in children.split():
        os.kill(int(child), signal.SIGKILL)


def wait_for_socket(folder: Path) -> Path:
    until_s = time.monotonic() + LIMIT_S
    path = folder / "zygote.sock"
    while not path.exists():
        assert time.monotonic() < until_s
        time.sleep(0.01)
    return path
