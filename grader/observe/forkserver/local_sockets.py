"""Sockets that processes of a run may connect to by a path; who connects is the kernel's word."""

import contextlib
import signal
import socket
import struct
import threading
from pathlib import Path

_SO_PASSRIGHTS = 83
"""Since Linux 6.16; Python has no name for it yet."""
TICK_S = 0.1
_PEER_CREDENTIALS = struct.Struct("3i")


def refuse_descriptors(listener: socket.socket) -> None:
    """Have the kernel refuse what is sent to this Unix socket, and to all that it accepts.

    Before Linux 6.16 nothing changes: see interrupt_waits.
    """
    with contextlib.suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)


def interrupt_waits(period_s: float = TICK_S) -> None:
    """Have a signal end, each period from now on, whatever our main thread waits for in the kernel.

    A message on a Unix socket may bring descriptors along. Who drops the last copy of one closes
    its file or socket. That may block, as a TCP socket with SO_LINGER and unsent bytes does for as
    long as its maker has set. This must not keep the judge or the forkserver from watching a run.
    Python repeats a system call that a signal interrupts, but for a close that lingers: that one
    ends. Timer and handler of SIGALRM are taken for good, because the default handler would kill us
    at a late signal.
    period_s: 0 for never again. Called in another thread, which no signal would reach, it does
    nothing.
    """
    if threading.current_thread() is threading.main_thread():
        # One that does nothing: what is ignored by name interrupts nothing.
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, period_s, period_s)


def listening_at(path: Path, max_waiting: int, mode: int = 0o666) -> socket.socket:
    """Return a socket that all whom the mode of its file lets may connect to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(mode)
    refuse_descriptors(listener)
    listener.listen(max_waiting)
    return listener


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return pid and uid of the process at the other end, as the kernel knows them."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    pid, uid, _ = _PEER_CREDENTIALS.unpack(raw)
    return pid, uid
