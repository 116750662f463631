import json
import struct
import sys

SHAPES = [[-1], [-1, -13], [1 << 62, 4], [True], [13.0], ["13"], [1] * 40, [0, 1 << 62], [1 << 39] * 8, None, 13, [[13]]]
wire = sys.modules["grader_rank.wire"]
honest_send = wire.send
turn = 0


def send(connection, kind, values=None, arrays=None):
    if kind != "result":
        return honest_send(connection, kind, values, arrays)
    announced = [[name, array.dtype.str, SHAPES[turn % len(SHAPES)]] for name, array in arrays.items()]
    head = json.dumps({"kind": "result", "values": values, "arrays": announced}).encode()
    connection.sendall(struct.pack(">I", len(head)) + head + b"".join(a.tobytes() for a in arrays.values()))


wire.send = send


def allreduce(send_array, recv, comm, op):
    global turn
    turn += comm.Get_size()
    recv[...] = 0
