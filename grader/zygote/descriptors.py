"""Descriptors that a submission sends us: refused by the kernel, and harmless where it cannot.

A message on a Unix socket may bring descriptors along, wanted or not, and whoever lets go of one
last closes what it stands for. That may wait: for a TCP socket with SO_LINGER and unsent bytes as
long as its maker likes. Nothing of that may stop the judge, or the zygote, from watching a run.
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

    What Python waits for, it goes on waiting for; a close that lingers is over. It takes the timer
    and the handler of SIGALRM for good: a late signal must not meet the default one, which kills.
    period_s: 0 for never again. Called in another thread, which no signal would reach, it does
    nothing.
    """
    if threading.current_thread() is threading.main_thread():
        # One that does nothing: what is ignored by name interrupts nothing.
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, period_s, period_s)
