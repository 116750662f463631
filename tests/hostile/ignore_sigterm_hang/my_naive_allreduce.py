import signal
import time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))


def allreduce(send, recv, comm, op):
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            pass
