"""Recorded launches in a folder of the user's cache, one file each, under a bound."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grader.recording.recording import RecordedLaunch, replace_file

MAX_NUM_BYTES = 6 << 30
_SUFFIX = ".launch"


def cache_folder() -> Path:
    """Return the folder that everything of this user is cached in; it may not be there yet."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "grader"


class Store:
    """Recorded launches of one observer, by the keys of their plans."""

    def __init__(self, root: Path, observer: str, *, max_num_bytes: int = MAX_NUM_BYTES) -> None:
        """root: of all observers. max_num_bytes: of them together; others' are removed first."""
        self._root = root
        self._folder = root / observer
        self._max_num_bytes = max_num_bytes

    def find(self, key: str) -> RecordedLaunch | None:
        """Return the launch of a key; None where there is none, or where it cannot be read."""
        try:
            content = self._file(key).read_bytes()
            launch = msgspec.msgpack.decode(content, type=RecordedLaunch)
        except (OSError, msgspec.DecodeError, ValueError):
            return None
        with contextlib.suppress(OSError):
            os.utime(self._file(key))  # what is used is not removed
        return launch

    def keep(self, key: str, launch: RecordedLaunch) -> None:
        """Store a launch. What cannot be written is not kept."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            replace_file(self._file(key), msgspec.msgpack.encode(launch))

    def known(self) -> Iterator[RecordedLaunch]:
        """Yield all launches."""
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")):
            if (launch := self.find(file.name.removesuffix(_SUFFIX))) is not None:
                yield launch

    def prune(self) -> None:
        """Remove what is too much: other observers' launches first, then those not used longest."""
        others = (file for file in self._root.glob(f"*/*{_SUFFIX}") if file.parent != self._folder)
        ours = list(self._folder.glob(f"*{_SUFFIX}"))
        left = self._max_num_bytes - remove_oldest(ours, self._max_num_bytes)
        remove_oldest(others, left)
        for folder in self._root.glob("*"):
            with contextlib.suppress(OSError):  # which is not empty
                folder.rmdir()

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def remove_oldest(files: Iterable[Path], max_num_bytes: int) -> int:
    """Remove files, the longest unused first, until the others have no more bytes than this.

    Return how many the others have.
    """
    there = []
    for file in files:
        with contextlib.suppress(OSError):  # which somebody else has removed
            there.append((file.stat(), file))
    by_age = sorted(there, key=lambda each: each[0].st_mtime)
    num_bytes = sum(found.st_size for found, _ in by_age)
    for found, file in by_age:
        if num_bytes <= max_num_bytes:
            break
        file.unlink(missing_ok=True)
        num_bytes -= found.st_size
    return num_bytes
