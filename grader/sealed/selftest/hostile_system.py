"""Attempts on what the kernel offers: namespaces, mounts, seldom used calls, sockets."""

import ctypes
import errno
import mmap
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_long
from functools import partial
from typing import Any

from .architecture import this_one
from .hostile_calling import checked, in_a_child, libc
from .hostile_processes import trace_a_child

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
_PR_SET_DUMPABLE = 4
_TIME_WAIT = "06"
"""The state of a connection that has ended, in /proc/net/tcp."""
_LONGEST_ENDING_S, _TICK_S = 2.0, 0.01
_SYSTEM_V_REMOVE = {"shmget": libc.shmctl, "msgget": libc.msgctl, "semget": libc.semctl}


def try_namespaces(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Namespaces, mounts and devices are refused."""
    for name, flag in _NAMESPACES.items():
        yield f"a new {name} namespace", partial(in_a_child, partial(_unshare, flag))
    yield "mount", partial(checked, libc.mount, b"none", b"/tmp", b"tmpfs", 0, None)
    yield "chroot", partial(in_a_child, partial(os.chroot, target["scratch"]))
    device = f"{target['scratch']}/device"
    yield "a device", partial(os.mknod, device, 0o20600, os.makedev(1, 3))


def try_system_calls(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """System calls that no submission needs are refused."""
    machine = this_one()
    numbers = machine.calls
    for name, arguments in _CALLS.items():
        yield name, partial(_system_call, name, numbers[name], arguments)
    # By other numbers, under which a filter that goes by ours would refuse nothing.
    for code in machine.other_calls:
        yield "getpid as 32-bit programs call it", partial(in_a_child, partial(_run_code, code))
    if machine.other_bit is not None:
        number = numbers["getpid"] | 1 << machine.other_bit
        other = partial(checked, libc.syscall, c_long(number))
        yield "getpid by another set of numbers", partial(in_a_child, other)
    yield "trace a child", trace_a_child
    yield "show its memory", partial(checked, libc.prctl, _PR_SET_DUMPABLE, 1, 0, 0, 0)
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


def try_the_network(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """There is no network but the loopback."""
    # Addresses kept for documentation. Connecting a datagram socket sends nothing: it finds a way.
    yield "a way to 192.0.2.1", partial(_find_way, socket.AF_INET, "192.0.2.1")
    yield "a way to 2001:db8::1", partial(_find_way, socket.AF_INET6, "2001:db8::1")


def try_ports_of_connections_that_ended(
    target: Mapping[str, Any],
) -> Iterator[tuple[str, Callable[[], object]]]:
    """No port shows that it had a connection which has ended."""
    port = _port_of_a_connection_that_ended()
    yield "read of it in /proc/net/tcp", partial(_read_of, port)
    yield "find the port taken", partial(_find_taken, port)


def _port_of_a_connection_that_ended() -> int:
    """Return the port of the side that has ended it, on which the kernel would keep it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        with socket.create_connection(("127.0.0.1", port)) as ours:
            listener.accept()[0].close()
            ours.recv(1)
    until_s = time.monotonic() + _LONGEST_ENDING_S
    # A busy machine takes a moment to end both sides.
    while _states_of(port) - {_TIME_WAIT} and time.monotonic() < until_s:
        time.sleep(_TICK_S)
    return port


def _states_of(port: int) -> set[str]:
    """Return the states of all connections that have this port on our side."""
    with open("/proc/net/tcp") as table:  # noqa: PTH123 - one of the kernel's
        rows = [line.split() for line in table][1:]
    return {row[3] for row in rows if int(row[1].partition(":")[2], 16) == port}


def _read_of(port: int) -> None:
    if not _states_of(port):
        raise PermissionError(errno.EPERM, "nothing is told of it")


def _find_taken(port: int) -> None:
    try:
        with socket.socket() as later:
            later.bind(("127.0.0.1", port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return
        raise
    raise PermissionError(errno.EPERM, "it is free")


def _unshare(flag: int) -> None:
    checked(libc.unshare, flag)


def _system_call(name: str, number: int, arguments: tuple[Any, ...]) -> None:
    plain = [c_long(each) if isinstance(each, int) else each for each in arguments]
    made = checked(libc.syscall, c_long(number), *plain)
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


def _find_way(family: int, address: str) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.connect((address, 9))
