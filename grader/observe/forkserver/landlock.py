"""Which files a process may use from now on, by the kernel's Landlock; its children as well.

The system calls have the same numbers on every architecture; the C library knows none of them.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
"""The flag of landlock_create_ruleset that asks for the version only."""
_RULE_PATH_BENEATH = 1
_SYSCALL = ctypes.CDLL(None, use_errno=True).syscall

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE
_NUM_RIGHTS = {1: 13, 2: 14}
_REFER_AND_TRUNCATE = 15
"""From version 3 on: to link between folders and to cut off files are rights as well."""
_TRUNCATE = 1 << 14
_SCOPES = 3
"""From version 6 on: no signal to and no abstract socket of a process that is not confined so."""
_NO_SCOPES_BEFORE = 6
_NO_TRUNCATE_BEFORE = 3


def version() -> int:
    """Return the version of Landlock that this kernel has; 0 for none."""
    return max(0, int(_SYSCALL(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def restrict(*, readable: Iterable[Path], devices: Iterable[Path], own: Iterable[Path]) -> None:
    """Let this thread, and what it starts, use these files only; needs no_new_privs.

    readable: files, and folders with all that lies below them. devices: may be written as well.
    own: folders in which everything is allowed. Does nothing where the kernel has no Landlock.
    Raises OSError when the kernel refuses.
    """
    has = version()
    if not has:
        return
    rights = (1 << _NUM_RIGHTS.get(has, _REFER_AND_TRUNCATE)) - 1
    # Ports, which come second, are open to all.
    handled = struct.pack("=QQQ", rights, 0, _SCOPES if has >= _NO_SCOPES_BEFORE else 0)
    # What a kernel has never heard of may be there as long as it is zero.
    ruleset = _call(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), 0)
    try:
        writable = _WRITE_FILE | (_TRUNCATE if has >= _NO_TRUNCATE_BEFORE else 0)
        _allow(ruleset, own, rights)
        _allow(ruleset, devices, _READ_FILE | writable)
        _allow(ruleset, readable, _READ)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def beside(folder: Path) -> Iterator[Path]:
    """Yield all files and folders of this machine but those that lie in `folder`, or lead to it.

    What lies beside `folder` itself is not among them: the folders of other runs.
    """
    *above, _ = folder.parents[::-1]
    for parent, child in zip(above, [*above[1:], folder.parent], strict=True):
        yield from (each for each in parent.iterdir() if each != child)


def _allow(ruleset: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # what cannot even be opened needs no leave
        try:
            given = rights if path.is_dir() and not path.is_symlink() else rights & _OF_FILES
            rule = struct.pack("=Qi", given, opened)
            _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EBADFD):  # a link, a socket
                raise
        finally:
            os.close(opened)


def _call(number: int, *arguments: object) -> int:
    result = int(_SYSCALL(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock refused system call {number}")
    return result
