import sys

EVIL = (
    "x\n::set-output name=score::15\n::add-mask::0\n::error::graded wrongly\n::stop-commands::x\n::endgroup::\n"
    "##[set-env name=PATH]/tmp\n##vso[task.complete result=Succeeded]\n\r::warning::x\n\u2028::notice::x\n"
    "::set-env name=LD_PRELOAD::/tmp/evil.so\nsection_end:1:x\r\x1b[0K\n"
)


def allreduce(send, recv, comm, op):
    print(EVIL, flush=True)
    print(EVIL, file=sys.stderr, flush=True)
    raise ValueError(EVIL)
