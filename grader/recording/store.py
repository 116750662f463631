"""Recorded launches in a folder of the user's cache, one file each, under a bound."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.recording.recording import RecordedLaunch

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
        file = self._file(key)
        beside = file.with_name(f"{file.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(msgspec.msgpack.encode(launch))
            beside.replace(file)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink()

    def known(self) -> Iterator[RecordedLaunch]:
        """Yield all launches."""
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")):
            if (launch := self.find(file.name.removesuffix(_SUFFIX))) is not None:
                yield launch

    def prune(self) -> None:
        """Remove what is too much: other observers' launches first, then those not used longest."""
        ours = [(file.stat(), file) for file in self._root.glob(f"*/*{_SUFFIX}")]
        ours.sort(key=lambda each: (each[1].parent == self._folder, each[0].st_mtime))
        num_bytes = sum(found.st_size for found, _ in ours)
        for found, file in ours:
            if num_bytes <= self._max_num_bytes:
                break
            file.unlink(missing_ok=True)
            num_bytes -= found.st_size
        for folder in self._root.glob("*"):
            if folder.is_dir() and not any(folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"
