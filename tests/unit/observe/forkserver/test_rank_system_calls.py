"""What a rank beside others can no longer show them: refused by number, flag or clock."""

import ctypes
import errno
import os
import threading
import time

import pytest

from grader.observe.forkserver.rank_system_calls import Allowed
from grader.observe.forkserver.system_calls import NoFilter, SystemCallFilter

LIBC = ctypes.CDLL(None, use_errno=True)
UPPER_HALF = 7 << 32
"""Of an argument that the kernel takes as an int: it changes nothing."""


@pytest.fixture(scope="module")
def made():
    try:
        return SystemCallFilter()
    except NoFilter as error:
        pytest.skip(str(error))


def confined(made, act) -> int:
    """Return what `act` returns in a process that is kept apart from other ranks."""
    return after(lambda: made.keep_ranks_apart(Allowed()), act)


def after(refuse, act) -> int:
    """Return what `act` returns in a process that has put on a filter."""
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            LIBC.prctl(38, 1, 0, 0, 0)  # no new privileges
            refuse()
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def error_of(name: str, *arguments: int) -> int:
    """Return errno of a system call, 0 if it was done."""
    import pyseccomp

    number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return ctypes.get_errno() if result < 0 else 0


@pytest.mark.parametrize("name", ["execve", "execveat"])
def test_programs_are_refused_with_and_without_others(made, name):
    for refuse in (made.refuse_programs, lambda: made.keep_ranks_apart(Allowed())):
        assert after(refuse, lambda: error_of(name, 0, 0, 0, 0, 0)) == errno.EPERM


@pytest.mark.parametrize("name", ["setpgid", "flock", "inotify_init1", "setpriority"])
def test_a_rank_that_has_no_others_keeps_the_rest(made, name):
    assert after(made.refuse_programs, lambda: error_of(name, -1, -1, -1, -1)) != errno.EPERM


@pytest.mark.parametrize(
    "name",
    [
        *("setpgid", "setsid", "pidfd_open", "fadvise64", "readahead", "mincore", "io_setup"),
        *("flock", "inotify_init1", "setpriority"),
    ],
)
def test_what_shows_others_something_is_refused(made, name):
    assert confined(made, lambda: error_of(name, -1, -1, -1, -1)) == errno.EPERM


@pytest.mark.parametrize(
    "name", ["clock_gettime", "clock_getres", "clock_nanosleep", "timer_create"]
)
@pytest.mark.parametrize("kind", [0, 1, 2], ids=("profile", "virtual", "scheduled"))
@pytest.mark.parametrize("upper", [0, UPPER_HALF])
def test_nobody_learns_how_long_a_process_has_computed(made, name, kind, upper):
    """Whatever the number of the process, also one's own; there is another clock for that."""
    clock = (~os.getpid() << 3 | kind) & 0xFFFFFFFF | upper
    assert confined(made, lambda: error_of(name, clock, 0, 0, 0)) == errno.EPERM


def test_clocks_of_ones_own_are_left(made):
    """Of the process, of a thread by its name or its number, and those on the wall."""

    def read():
        own = time.pthread_getcpuclockid(threading.get_ident())
        for clock in (own, time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID):
            time.clock_gettime(clock), time.clock_getres(clock)
        time.monotonic(), time.time(), time.sleep(0.001)
        return 0

    assert confined(made, read) == 0


def test_no_flag_of_reading_is_left(made, tmp_path):
    """Some tell whether a file is in memory, or keep it out; without one, reading works."""
    (tmp_path / "file").write_text("text")

    def read():
        file = os.open(tmp_path / "file", os.O_RDONLY)
        assert os.preadv(file, [bytearray(4)], 0) == 4
        assert error_of("preadv2", file, 0, 0, 0, 0, 0) == 0
        flags = [1 << bit for bit in range(8)]
        return sum(error_of("preadv2", file, 0, 0, 0, 0, flag) != errno.EPERM for flag in flags)

    assert confined(made, read) == 0


def test_times_of_files_stay_as_they_are_and_nobody_minds(made, tmp_path):
    """Who copies a file sets the times of the copy."""
    file = tmp_path / "file"
    file.write_text("text")
    before = file.stat()

    def change():
        os.utime(file)
        os.utime(file, (1, 1))
        os.utime(tmp_path, ns=(1, 1), follow_symlinks=False)
        return 0

    assert confined(made, change) == 0
    assert (file.stat().st_mtime_ns, file.stat().st_atime_ns) == (
        before.st_mtime_ns,
        before.st_atime_ns,
    )
