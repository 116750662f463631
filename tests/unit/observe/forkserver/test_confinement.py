"""What becomes of a process that is made one of a run, seen from inside it."""

import json
import os
import resource
from pathlib import Path

import pytest

from grader.observe.forkserver.confinement import Sealed, confine
from grader.observe.forkserver.run_users import RunUsers
from grader.observe.forkserver.system_calls import NoFilter, SystemCallFilter
from grader.observe.run_control.users import run_uids

TOLD = ("Uid", "Gid", "Groups", "CapEff", "NoNewPrivs", "Seccomp", "Umask")
KINDS = ("NPROC", "NOFILE", "FSIZE", "CORE", "MEMLOCK", "MSGQUEUE", "SIGPENDING", "NICE", "RTPRIO")


def inside(sealed, *, also: int = 0) -> dict:
    """Return what a confined process tells of itself."""
    printed = os.memfd_create("printed")
    opened = os.open("/dev/zero", os.O_RDONLY)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            confine(sealed, 1 << 30, printed, parent)
            status = Path("/proc/self/status").read_text()
            told = dict(line.split(":", 1) for line in status.splitlines())
            found = {name: told[name].split() for name in TOLD}
            for kind in KINDS:
                found[kind] = resource.getrlimit(getattr(resource, f"RLIMIT_{kind}"))
            found["open"] = [fd for fd in range(100) if Path(f"/proc/self/fd/{fd}").exists()]
            found["also"] = Path(f"/proc/self/fd/{also}").exists()
            found["leads session"] = os.getsid(0) == os.getpid()
            print(json.dumps(found), file=os.fdopen(1, "w", closefd=False), flush=True)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(opened)
    said = os.pread(printed, 1 << 16, 0)
    os.close(printed)
    return json.loads(said)


@pytest.mark.parametrize("number", [99, 1 << 16, 100_000, (1 << 20) - 1])
def test_no_descriptor_is_left_however_high_its_number(number):
    """Also where the limit was lower again before the process was forked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number + 1, max(hard, number + 1)))
    except (OSError, ValueError):
        pytest.skip(f"descriptors end at {hard} here")
    try:
        with Path("/dev/zero").open("rb") as opened:
            os.dup2(opened.fileno(), number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
        assert inside(None, also=number)["also"] is False
        os.close(number)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_sealed_run_has_every_limit():
    """Another user for good, without rights, descriptors, or a way to get them back."""
    uid = next(run_uids())
    try:
        sealed = Sealed(RunUsers(uid, 16), SystemCallFilter())
    except NoFilter as error:
        pytest.skip(str(error))
    found = inside(sealed)
    assert found["Uid"] == found["Gid"] == [str(uid)] * 4
    assert found["Groups"] == [] and int(found["CapEff"][0], 16) == 0
    assert (found["NoNewPrivs"], found["Seccomp"]) == (["1"], ["2"])
    assert found["Umask"] == ["0077"] and found["leads session"]
    assert {fd for fd in found["open"]} <= {0, 1, 2}
    assert found["NPROC"] == [448, 448]
    assert found["FSIZE"] == [256 << 20] * 2
    assert found["NOFILE"] == [1024] * 2
    for kind in ("CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO"):
        assert found[kind] == [0, 0], kind


def test_a_run_of_our_own_user_leaves_the_desktop_its_processes():
    """What is counted for a user as a whole is not limited where the user is a person."""
    found = inside(None)
    assert found["Uid"] == [str(os.getuid())] * 4
    assert found["NoNewPrivs"] == ["1"]
    assert tuple(found["NPROC"]) == resource.getrlimit(resource.RLIMIT_NPROC)
    assert found["NOFILE"][1] <= 1024 and found["CORE"] == [0, 0]


def test_a_process_whose_parent_has_gone_does_not_begin():
    """Its parent may end before it can ask to be ended with it."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            confine(None, 1 << 30, 2, parent=os.getppid() + (1 << 22))
        except ProcessLookupError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
