"""Descriptors that a submission sends us: refused by the kernel, and harmless where it cannot.

A message on a Unix socket may bring descriptors along, wanted or not. The process that drops the
last copy of a descriptor closes its file or socket. Closing may block: a TCP socket with SO_LINGER
and unsent bytes blocks for as long as its maker has set. This must not keep the judge or the
forkserver from watching a run.
"""

import contextlib
import signal
import socket
import threading

_SO_PASSRIGHTS = 83
"""Since Linux 6.16; Python has no name for it yet."""
TICK_S = 0.1


def refuse_descriptors(listener: socket.socket) -> None:
    """Have the kernel refuse what is sent to this Unix socket, and to all that it accepts.

    Before Linux 6.16 nothing changes: see interrupt_waits.
    """
    with contextlib.suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_PASSRIGHTS, 0)


def interrupt_waits(period_s: float = TICK_S) -> None:
    """Have a signal end, each period from now on, whatever our main thread waits for in the kernel.

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
