import os
import socket

KEPT = ["/tmp/kept", "/dev/shm/kept", "/var/tmp/kept", "/run/kept", os.path.expanduser("~/kept"), "/dev/mqueue/kept"]


def allreduce(send, recv, comm, op):
    for path in KEPT:
        if os.path.exists(path) and not os.path.exists("first"):
            raise ValueError(f"BREACH {path} is left of an earlier run")
    try:
        earlier = socket.socket(socket.AF_UNIX)
        earlier.connect("\0kept")
        if not os.path.exists("first"):
            raise ValueError("BREACH a socket of an earlier run answers")
    except OSError:
        pass
    open("first", "w").close()
    for path in KEPT:
        try:
            with open(path, "wb") as file:
                file.write(send.tobytes())
            os.chmod(path, 0o666)
        except OSError:
            pass
    try:
        keeper = socket.socket(socket.AF_UNIX)
        keeper.bind("\0kept")
        keeper.listen()
        if os.fork() == 0:
            os.setsid()
            while True:
                keeper.accept()[0].sendall(send.tobytes())
    except OSError:
        pass
    recv[...] = 0
