"""What the probe of the selftest tries: to read what is the grader's, to get more from the kernel.

Of other protections the kernel tells whether they are there: grader.sealed.selftest.findings.
"""

import ctypes
import errno
import importlib
import mmap
import os
import platform
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_long
from functools import partial
from pathlib import Path
from typing import Any

_NAMESPACES = {"user": 1 << 28, "mount": 1 << 17, "process": 1 << 29, "network": 1 << 30}
_CALLS: dict[str, tuple[int | bytes | None, ...]] = {
    # With what arguments.
    "keyctl": (0, -4, 0),
    "add_key": (b"user", b"x", b"y", 1, -4),
    "request_key": (b"user", b"x", None, -4),
    "bpf": (0, None, 0),
    "io_uring_setup": (1, None),
    "userfaultfd": (0,),
    "perf_event_open": (None, 0, -1, -1, 0),
    "shmget": (0, 4096, 0o1600),
    "msgget": (0, 0o1600),
    "semget": (0, 1, 0o1600),
    "mq_open": (b"selftest", os.O_CREAT | os.O_RDWR, 0o600, None),
    "setns": (0, 0),
    "pivot_root": (b"/tmp", b"/tmp"),
    "open_by_handle_at": (-1, None, 0),
    "init_module": (None, 0, b""),
    "syslog": (3, None, 0),
    "memfd_create": (b"selftest", 0),
}
_CODE_OF_OTHERS = {"x86_64": b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"}
"""By processor: machine code that asks for getpid by int 0x80, as 32-bit programs do."""
_BIT_OF_OTHERS = {"x86_64": 30}
"""What means another set of numbers where a call's number has it: x32."""
_ON_JUDGE = ("try_reading_files", "try_reading_processes")
_ON_KERNEL = ("try_namespaces", "try_system_calls", "try_sockets")
"""Under one kernel and image they end the same way until the machine reboots."""
_PR_SET_DUMPABLE = 4
_PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
_SYSTEM_V_REMOVE = {"shmget": libc.shmctl, "msgget": libc.msgctl, "semget": libc.semctl}


class _Piece(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("num_bytes", ctypes.c_size_t))


def try_reading_files(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """The grader's files cannot be read."""
    for path in target["material"]:
        yield f"list {path}", partial(os.listdir, path)
        yield f"read {path}", partial(_open, path)


def try_reading_processes(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """No other process can be read: neither the judge nor the one that starts the ranks."""
    for pid in foreign_processes():
        for name in ("environ", "maps"):
            yield f"read /proc/{pid}/{name}", partial(_read_something, f"/proc/{pid}/{name}")
        memory = target["canary_address"]
        yield f"read the memory of process {pid}", partial(_read_memory, pid, memory)
        yield f"copy the memory of process {pid}", partial(_copy_memory, pid, memory)


def try_namespaces(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Namespaces, mounts and devices are refused."""
    for name, flag in _NAMESPACES.items():
        yield f"a new {name} namespace", partial(_in_a_child, partial(_unshare, flag))
    yield "mount", partial(_checked, libc.mount, b"none", b"/tmp", b"tmpfs", 0, None)
    yield "chroot", partial(_in_a_child, partial(os.chroot, target["scratch"]))
    device = f"{target['scratch']}/device"
    yield "a device", partial(os.mknod, device, 0o20600, os.makedev(1, 3))


def try_system_calls(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """System calls that no submission needs are refused."""
    library = importlib.import_module("pyseccomp")  # it knows the numbers of each processor
    arch, machine = library.system_arch(), platform.machine()
    for name, arguments in _CALLS.items():
        yield name, partial(_system_call, name, library.resolve_syscall(arch, name), arguments)
    # By other numbers, under which a filter that goes by ours would refuse nothing.
    if code := _CODE_OF_OTHERS.get(machine):
        yield "getpid as 32-bit programs call it", partial(_in_a_child, partial(_run_code, code))
    if bit := _BIT_OF_OTHERS.get(machine):
        number = library.resolve_syscall(arch, "getpid") | 1 << bit
        other = partial(_checked, libc.syscall, c_long(number))
        yield "getpid with another set of system call numbers", partial(_in_a_child, other)
    yield "trace a child", _trace_a_child
    yield "expose its memory", partial(_checked, libc.prctl, _PR_SET_DUMPABLE, 1, 0, 0, 0)
    yield "set the clock", partial(time.clock_settime, time.CLOCK_REALTIME, 0)


def try_sockets(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Sockets that no submission needs are refused."""
    packets, virtual_machine, crypto = 17, 40, 38
    for name, family, kind, protocol in (
        ("raw", socket.AF_INET, socket.SOCK_RAW, 1),
        ("packet", packets, socket.SOCK_RAW, 0),
        ("vsock", virtual_machine, socket.SOCK_STREAM, 0),
        ("crypto", crypto, socket.SOCK_SEQPACKET, 0),
    ):
        yield f"a {name} socket", partial(socket.socket, family, kind, protocol)
    yield "a socket that lingers", _make_linger


def names(*, with_kernel: bool) -> list[str]:
    """Return the names of the attempts to make."""
    return [*_ON_JUDGE, *(_ON_KERNEL if with_kernel else ())]


def foreign_processes() -> list[int]:
    """Return every process of whom we are nothing in any respect."""
    ours = set(map(str, os.getresuid()))
    found = []
    for entry in filter(str.isdigit, sorted(os.listdir("/proc"))):  # noqa: PTH208 - only names
        try:
            lines = Path(f"/proc/{entry}/status").read_text().splitlines()
        except OSError:
            continue
        users = next(line.split()[1:] for line in lines if line.startswith("Uid:"))
        if ours.isdisjoint(users):
            found.append(int(entry))
    return found


def _open(file: str) -> None:
    os.close(os.open(file, os.O_RDONLY))


def _read_something(file: str) -> None:
    """Raise OSError also where nothing can be read, as from the memory of an ended process."""
    with open(file, "rb") as opened:  # noqa: PTH123 - the plainest way
        if not opened.read(1):
            raise OSError(errno.ESRCH, "is empty")


def _read_memory(pid: int, address: int) -> None:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    try:
        found = os.pread(memory, 1, address)
    except OSError:
        # Nothing at this address; but the memory was open to us.
        pass
    else:
        if not found:
            raise OSError(errno.ESRCH, "has ended")
    finally:
        os.close(memory)


def _copy_memory(pid: int, address: int) -> None:
    byte = ctypes.create_string_buffer(1)
    here = _Piece(ctypes.cast(byte, ctypes.c_void_p), 1)
    there = _Piece(address, 1)
    read = libc.process_vm_readv
    _checked(read, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def _trace_a_child() -> None:
    """Trace a process of our own, as debuggers do."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        _checked(libc.ptrace, _PTRACE_SEIZE, child, None, None)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _checked(function: Any, *arguments: Any) -> int:
    """Call a function of the C library; raise OSError where it returns -1."""
    ctypes.set_errno(0)
    result = int(function(*arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _in_a_child(act: Callable[[], object]) -> None:
    """Do in a child what would change this process; raise OSError as it did."""
    child = os.fork()
    if child == 0:
        status = 255
        try:
            act()
            status = 0
        except OSError as error:
            status = error.errno or 255
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        # A negative one is a signal: how a filter may refuse as well.
        status = errno.EPERM if status < 0 else status
        raise OSError(status, os.strerror(status))


def _unshare(flag: int) -> None:
    _checked(libc.unshare, flag)


def _system_call(name: str, number: int, arguments: tuple[Any, ...]) -> None:
    plain = [c_long(each) if isinstance(each, int) else each for each in arguments]
    made = _checked(libc.syscall, c_long(number), *plain)
    if name in _SYSTEM_V_REMOVE:
        # What was made outlives us: take it away again.
        last = (0,) if name != "semget" else (0, 0)
        _SYSTEM_V_REMOVE[name](made, *last, None)


def _run_code(code: bytes) -> None:
    """Run machine code; raise OSError with what it returned, where that is an error."""
    # On a kernel that knows no such calls this is a crash, of which nobody is to be told.
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    returned = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if returned < 0:
        raise OSError(-returned, os.strerror(-returned))


def _make_linger() -> None:
    with socket.socket() as lingering:
        lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30))
