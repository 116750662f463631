"""Recorded launches in a folder of the user's cache, under a bound."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from grader.recording.codec import pieces
from grader.recording.recording import RecordedLaunch, replace_file

MAX_NUM_BYTES = 10 << 30
_LAUNCH, _ARRAY = ".launch", ".array"
_LONG_NUM_BYTES = 16 << 10


class _Stored(msgspec.Struct):
    fields: Mapping[str, str]
    label: str
    pieces: list[tuple[str, bytes]]
    """Of the observation: each by itself, or by the name of the file that has it."""


class Store:
    """Recorded launches of one observer, by the keys of their plans.

    Long arrays have files of their own: many submissions compute the same.
    """

    def __init__(self, root: Path, observer: str, *, max_num_bytes: int = MAX_NUM_BYTES) -> None:
        """root: of all observers. max_num_bytes: of them together; others' are removed first."""
        self._root = root
        self._folder = root / observer
        self._max_num_bytes = max_num_bytes

    def find(self, key: str) -> RecordedLaunch | None:
        """Return the launch of a key; None where there is none, or where it cannot be read."""
        try:
            stored = msgspec.msgpack.decode(self._read(f"{key}{_LAUNCH}"), type=_Stored)
            found = (
                self._read(f"{name}{_ARRAY}") if name else piece for name, piece in stored.pieces
            )
            return RecordedLaunch(stored.fields, stored.label, b"".join(found))
        except (OSError, msgspec.DecodeError, ValueError):
            return None

    def keep(self, key: str, launch: RecordedLaunch) -> None:
        """Store a launch. What cannot be written is not kept."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            stored = [self._kept(piece) for piece in pieces(launch.observed)]
            content = msgspec.msgpack.encode(_Stored(launch.fields, launch.label, stored))
            replace_file(self._folder / f"{key}{_LAUNCH}", content)

    def keep_all(self, launches: Mapping[str, RecordedLaunch]) -> None:
        """Store launches by their keys, within the bound."""
        for key, launch in launches.items():
            self.keep(key, launch)
        with contextlib.suppress(OSError):
            self.prune()

    def _kept(self, piece: bytes) -> tuple[str, bytes]:
        """Return a piece as it is stored; of a long one the name of its file."""
        if len(piece) < _LONG_NUM_BYTES:
            return "", piece
        name = hashlib.blake2b(piece, digest_size=16).hexdigest()
        file = self._folder / f"{name}{_ARRAY}"
        if not file.is_file():
            replace_file(file, piece)
        return name, b""

    def _read(self, name: str) -> bytes:
        file = self._folder / name
        content = file.read_bytes()
        os.utime(file)  # what is used is not removed
        return content

    def prune(self) -> None:
        """Remove what is too much: other observers' launches first, then those not used longest."""
        others = (
            file for file in self._root.rglob("*") if file.is_file() and file.parent != self._folder
        )
        left = self._max_num_bytes - remove_oldest(self._folder.glob("*"), self._max_num_bytes)
        remove_oldest(others, left)
        for folder in self._root.glob("*"):
            with contextlib.suppress(OSError):  # which is not empty
                folder.rmdir()


def remove_oldest(files: Iterable[Path], max_num_bytes: int) -> int:
    """Remove the files longest unused down to a bound; return how many bytes are left."""
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
