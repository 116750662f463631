import os
import socket
import threading
import time

import numpy as np

call = 0
kept = {}


def serve(listener):
    while True:
        connection, _ = listener.accept()
        wanted = int(connection.recv(16))
        while wanted not in kept:
            time.sleep(0.0005)
        connection.sendall(kept[wanted])
        connection.close()


def start():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    return listener.getsockname()[1]


def allreduce(send, recv, comm, op):
    global call
    me, n = comm.Get_rank(), comm.Get_size()
    call += 1
    if call == 1:
        with open(f"port-{me}.part", "w") as file:
            file.write(str(start()))
        os.rename(f"port-{me}.part", f"port-{me}")
    kept[call] = send.tobytes()
    recv[...] = send
    for other in range(n):
        if other == me:
            continue
        while not os.path.exists(f"port-{other}"):
            time.sleep(0.0005)
        with socket.create_connection(("127.0.0.1", int(open(f"port-{other}").read()))) as connection:
            connection.sendall(str(call).encode())
            data = b""
            while more := connection.recv(1 << 20):
                data += more
        if send.size:
            recv[...] = op(recv, np.frombuffer(data, send.dtype).reshape(send.shape))
