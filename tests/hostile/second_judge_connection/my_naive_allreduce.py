import json
import socket
import struct


def frame(kind, values, arrays=(), payload=b""):
    head = json.dumps({"kind": kind, "values": values, "arrays": list(arrays)}).encode()
    return struct.pack(">I", len(head)) + head + payload


def allreduce(send, recv, comm, op):
    recv[...] = 0
    told = []
    for rank in range(comm.Get_size()):
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(0.3)
            connection.connect("../judge.sock")
            told.append(b"connected")
            connection.sendall(frame("hello", {"rank": rank}))
            told.append(connection.recv(4096))
            announced = ["recv", send.dtype.str, list(send.shape)]
            connection.sendall(frame("result", {"texts": {}}, [announced], send.tobytes()))
        except OSError:
            pass
    if any(told):
        raise ValueError(f"BREACH the judge still listens: {told}")
