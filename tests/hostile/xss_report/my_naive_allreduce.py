"""<script>alert(1)</script>"""
import sys

EVIL = "<script>alert(document.cookie)</script><img src=x onerror=alert(1)>'\"]]><svg/onload=alert(2)>&lt;"


def allreduce(send, recv, comm, op):
    print(EVIL)
    print(EVIL, file=sys.stderr)
    code = compile("\n" * 6 + f"raise ValueError({EVIL!r})", "<script>alert(3)<", "exec")
    exec(code, {"__name__": EVIL})
