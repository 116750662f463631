"""What counts as left behind when a run has ended."""

import os
import subprocess
import sys
from pathlib import Path

from grader.sealed.selftest.examine import _living_user

OUTLIVED = """\
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_lives_as_long_as_any_of_its_threads():
    """Its state is that of the first one; what has ended is nobody's, until it is waited for."""
    process = subprocess.Popen([sys.executable, "-c", OUTLIVED])
    folder = Path(f"/proc/{process.pid}")
    try:
        while "State:\tZ" not in (folder / "status").read_text():
            pass
        assert _living_user(folder) == str(os.getuid())
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert _living_user(folder) == ""
    finally:
        process.kill()
        process.wait()
    assert _living_user(folder) == ""
