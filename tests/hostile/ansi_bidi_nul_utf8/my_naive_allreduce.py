import os

EVIL = "\x1b[2J\x1b[H\x1b]0;title\x07\x1b]8;;https://evil.example\x07\x9b31m\u202eDETPECCA\u202c\u2066\u2069\u200b\ufeff\x00\x08\x7f\ud800"


def allreduce(send, recv, comm, op):
    os.write(1, b"\xff\xfe\x00\xc3\x28\xf0\x9f\x1b[2J\x1bP\x1b\\" + EVIL.encode("utf-8", "surrogatepass") + b"\n")
    raise type(EVIL.replace("\x00", "").replace("\ud800", ""), (Exception,), {})(EVIL)
