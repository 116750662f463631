"""Which packages somebody has opened the code of: told by the kernel, whichever program it was."""

import ctypes
import errno
import fcntl
import importlib.util
import os
import struct
import termios
from array import array
from collections.abc import Collection, Iterable, Iterator

_LIBC = ctypes.CDLL(None, use_errno=True)
_IN_OPEN, _IN_ONLYDIR = 0x20, 0x01000000
_IN_Q_OVERFLOW = 0x4000
_EVENT = struct.Struct("iIII")
_CODE = (b".py", b".pyc", b".so")


class OpenedPackages:
    """Watches the folders of some packages, until it is closed."""

    def __init__(self, names: Iterable[str]) -> None:
        """names: of packages; those that are not installed cannot be opened.

        Raises OSError where the kernel watches no more folders.
        """
        self._events = _called(_LIBC.inotify_init1, os.O_NONBLOCK | os.O_CLOEXEC)
        self._packages: dict[int, str] = {}
        try:
            for name in names:
                for folder in _folders_of(name):
                    self._packages[self._watch(folder)] = name
        except BaseException:
            self.close()
            raise

    @classmethod
    def where_possible(cls, names: Collection[str]) -> "OpenedPackages | None":
        """Return the same; None for no names, and where the kernel watches no more folders.

        How many it watches is shared by all that one user of the machine runs, also in other
        containers: no grading is to fail for what others have used up.
        """
        try:
            return cls(names) if names else None
        except OSError:
            return None

    def drain(self) -> list[str]:
        """Return the packages of which code has been opened since this was last called.

        All of them, where so much was opened that the kernel has forgotten some.
        """
        found: set[str] = set()
        for watch, mask, file in _events_in(self._waiting()):
            if mask & _IN_Q_OVERFLOW:
                found.update(self._packages.values())
            elif file.endswith(_CODE) and watch in self._packages:
                found.add(self._packages[watch])
        return sorted(found)

    def _watch(self, folder: str) -> int:
        path, events = os.fsencode(folder), _IN_OPEN | _IN_ONLYDIR
        return _called(_LIBC.inotify_add_watch, self._events, path, events)

    def _waiting(self) -> bytes:
        """Return the events up to now; whoever goes on opening files is not waited for."""
        num_bytes = array("i", [0])
        fcntl.ioctl(self._events, termios.FIONREAD, num_bytes)
        return os.read(self._events, num_bytes[0]) if num_bytes[0] else b""

    def close(self) -> None:
        """Watch no longer."""
        os.close(self._events)


def _folders_of(name: str) -> Iterator[str]:
    """Yield the folders of an installed package, its own and all below; nothing is imported."""
    package = importlib.util.find_spec(name)
    for folder in (package and package.submodule_search_locations) or []:
        yield from (path for path, _, _ in os.walk(os.path.realpath(folder)))


def _events_in(events: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield watch, mask and file name of each event."""
    at = 0
    while at < len(events):
        watch, mask, _, num_bytes = _EVENT.unpack_from(events, at)
        at += _EVENT.size
        yield watch, mask, events[at : at + num_bytes].rstrip(b"\0")
        at += num_bytes


def _called(function: object, *arguments: object) -> int:
    result = int(function(*arguments))  # type: ignore[operator] # a function of C
    if result < 0:
        code = ctypes.get_errno() or errno.EINVAL
        raise OSError(code, os.strerror(code))
    return result
