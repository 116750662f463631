"""Becomes a program on some processors: `python exec_pinned.py PARENT PROCESSORS PROGRAM...`.

The program ends as soon as the parent does: what nobody waits for is not to keep its cores. PARENT
is the number of a process, or `-` for the one that leads the session, such as an mpirun in a
session of its own. Between fork and exec of a process with threads, none of this could be done.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

parent, processors, *program = sys.argv[1:]
ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
# A parent that had ended before that ends nobody.
if os.getppid() != (os.getsid(0) if parent == "-" else int(parent)):
    os._exit(127)
os.sched_setaffinity(0, map(int, processors.split(",")))
os.execv(program[0], program)  # noqa: S606 - a command line of ours
