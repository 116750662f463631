"""The filter of system calls: what is refused is refused by the kernel, and Python still works."""

import ctypes
import errno
import mmap
import os
import platform
import signal
import socket
import subprocess
import sys
import threading

import pytest

from grader.observe.forkserver import system_calls
from grader.observe.forkserver.system_calls import NoFilter, SystemCallFilter
from grader.sealed.selftest.hostile_attempts import _BIT_OF_OTHERS, _CODE_OF_OTHERS

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER = 0x10000000


@pytest.fixture(scope="module")
def made():
    try:
        return SystemCallFilter()
    except NoFilter as error:
        pytest.skip(str(error))


def number(name: str) -> int:
    import pyseccomp

    return pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)


def error_of(call: int, *arguments: int) -> int:
    """Return errno of a system call, 0 if it was done."""
    ctypes.set_errno(0)
    result = LIBC.syscall(ctypes.c_long(call), *map(ctypes.c_long, arguments))
    return ctypes.get_errno() if result < 0 else 0


def under(made, act) -> int:
    """Return what `act` returns in a process with the filter on; minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            made.put_on()
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_every_call_of_the_list_is_refused(made):
    """One by one, with the error that the list says, whatever the arguments."""
    import pyseccomp

    wanted = system_calls.refused(pyseccomp)
    assert {"ptrace", "unshare", "bpf", "io_uring_setup", "shmget", "memfd_create"} <= set(wanted)

    def try_all():
        return sum(error_of(number(name), -1, -1, -1) != code for name, code in wanted.items())

    assert under(made, try_all) == 0


@pytest.mark.parametrize("has_sockets", [True, False])
def test_a_rank_is_refused_other_programs_and_users(made, has_sockets):
    """And what would tell other ranks something without a message."""

    def try_all():
        made.put_on_rank(has_sockets=has_sockets)
        calls = [number(name) for name in system_calls._NOT_FOR_RANKS]
        left = sum(error_of(each, -1, -1, -1, -1) != errno.EPERM for each in calls if each >= 0)
        is_open = error_of(number("socket"), socket.AF_INET, socket.SOCK_STREAM, 0) == 0
        return left + 100 * (is_open != has_sockets)

    assert under(made, try_all) == 0


@pytest.mark.parametrize("family", [3, 15, 17, 38, 40, 44, 1 << 20])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_other_families_of_sockets_are_refused(made, family, kind):
    """AF_VSOCK (40) leads out of a virtual machine, AF_ALG (38) and AF_PACKET (17) into the kernel.

    The upper half of the argument changes nothing.
    """
    call = number("socket")
    assert under(made, lambda: error_of(call, family, kind, 0)) == errno.EAFNOSUPPORT
    assert under(made, lambda: error_of(call, (7 << 32) | family, kind, 0)) == errno.EAFNOSUPPORT


@pytest.mark.parametrize("family", ["AF_UNIX", "AF_INET", "AF_INET6"])
def test_the_families_that_mpi_and_torch_use_are_left(made, family):
    """Also interfaces can be listed, which takes a netlink socket."""

    def connect():
        socket.socket(getattr(socket, family)).close()
        socket.if_nameindex()
        return 0

    assert under(made, connect) == 0


@pytest.mark.parametrize("bit", [17, 25, 26, 27, 28, 29, 30])
def test_no_process_gets_a_namespace_of_its_own(made, bit):
    """Neither by clone nor by unshare nor by the newer clone3."""
    flags = (1 << bit) | signal.SIGCHLD
    assert under(made, lambda: error_of(number("clone"), flags, 0, 0, 0, 0)) == errno.EPERM
    assert under(made, lambda: error_of(number("unshare"), 1 << bit)) == errno.EPERM
    assert under(made, lambda: error_of(number("clone3"), 0, 0)) == errno.ENOSYS


@pytest.mark.parametrize("command", [0x5412, 0x541C, (1 << 32) | 0x5412])
def test_nothing_is_typed_into_a_terminal(made, command):
    """TIOCSTI and TIOCLINUX, whatever the upper half of the argument says."""
    assert under(made, lambda: error_of(number("ioctl"), 0, command, 0)) == errno.EPERM


def test_no_process_makes_itself_readable_again(made):
    """What hides a rank's memory from its neighbours stays; asking for it again is no error."""
    call = number("prctl")
    assert under(made, lambda: error_of(call, 4, 1, 0, 0, 0)) == errno.EPERM
    assert under(made, lambda: error_of(call, (1 << 32) | 4, 1, 0, 0, 0)) == errno.EPERM
    assert under(made, lambda: error_of(call, 0x59616D61, -1, 0, 0, 0)) == errno.EPERM
    assert under(made, lambda: error_of(call, 4, 0, 0, 0, 0)) == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 has two more sets of numbers")
def test_other_sets_of_numbers_end_the_process(made):
    """Under x32 and 32-bit numbers the same calls would have other names."""
    assert (
        under(made, lambda: error_of((1 << _BIT_OF_OTHERS["x86_64"]) | number("getpid")))
        == -signal.SIGSYS
    )

    def call_as_32_bit():
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(_CODE_OF_OTHERS["x86_64"])
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)() == 0

    assert under(made, call_as_32_bit) == -signal.SIGSYS


def test_threads_processes_and_shared_memory_are_left(made):
    """What torch and multiprocessing are made of."""

    def work():
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        code = "from multiprocessing import Lock, shared_memory as s\n"
        code += "m = s.SharedMemory(create=True, size=64); m.close(); m.unlink(); Lock()"
        return subprocess.run([sys.executable, "-c", code]).returncode

    assert under(made, work) == 0


def test_a_child_keeps_the_filter(made):
    """A new program is no way out."""
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0) == 0)"
    assert under(made, lambda: subprocess.run([sys.executable, "-c", code]).returncode) == 0


@pytest.mark.parametrize(
    ("error", "named"), [(ImportError, "pyseccomp"), (RuntimeError, "libseccomp2")]
)
def test_a_missing_library_is_one_clear_sentence(monkeypatch, error, named):
    """It is named, with what to do."""

    def missing(name):
        raise error(name)

    monkeypatch.setattr(system_calls.importlib, "import_module", missing)
    with pytest.raises(NoFilter, match=named):
        SystemCallFilter()
