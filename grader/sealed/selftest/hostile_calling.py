"""What attempts share: the C library, a file to be made, a child for what would change us."""

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)


def checked(function: Any, *arguments: Any) -> int:
    """Call a function of the C library; raise OSError where it returns -1."""
    ctypes.set_errno(0)
    result = int(function(*arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def make_file(path: str) -> None:
    """Make a file and remove it; raise OSError where that is refused."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    Path(path).unlink()


def in_a_child(act: Callable[[], object]) -> None:
    """Do in a child what would change this process; raise OSError as it did."""
    child = os.fork()
    if child == 0:
        status = 255
        try:
            act()
            status = 0
        except OSError as error:
            status = error.errno or 255
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        # A negative one is a signal: how a filter may refuse as well.
        status = errno.EPERM if status < 0 else status
        raise OSError(status, os.strerror(status))
