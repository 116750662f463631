import struct
import sys

wire = sys.modules["grader_rank.wire"]
HEADS = [
    (1 << 32) - 1, b"[" * 900_000, b'{"a":' * 150_000, b"9" * 1_000_000, b"\xff" * 4096, b"{}", b"null", b"0",
    b'{"kind": "result", "values": {"texts": {"recv": "' + b"x" * 900_000 + b'"}}, "arrays": []}',
    b'{"kind": "result", "values": NaN, "arrays": [["recv", "<f8", [1e999]]]}',
    b'{"kind": ["result"], "values": {}, "arrays": {}}',
    b'{"kind": "result", "kind": "result", "values": {}, "arrays": ' + b"[" * 100 + b"]" * 100 + b"}",
]
honest_send = wire.send
turn = 0


def send(connection, kind, values=None, arrays=None):
    if kind != "result":
        return honest_send(connection, kind, values, arrays)
    head = HEADS[turn % len(HEADS)]
    if isinstance(head, int):
        connection.sendall(struct.pack(">I", head) + b"x" * 65536)
    else:
        connection.sendall(struct.pack(">I", len(head)) + head)


wire.send = send


def allreduce(send_array, recv, comm, op):
    global turn
    turn += comm.Get_size()
    recv[...] = 0
