"""The files of a folder, reached from its descriptor alone, so that no link is ever followed."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from grader.intake.archives import names
from grader.intake.archives.entries import (
    IS_A_LINK,
    IS_OF_A_TOOL,
    IS_SPECIAL,
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_FILE_NUM_BYTES,
    Entry,
    Listing,
    empty_folder,
    left_out,
)
from grader.model.errors import UsageError

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SYSTEM_FOLDERS = (Path("/proc"), Path("/sys"))


def of_folder(root: Path, descriptor: int) -> Listing:
    """Return the files of a folder and of the folders in it.

    descriptor: of the folder, open for as long as entries are read. Raises UsageError when it holds
    too much or is one of the system's own, PermissionError with the name of what may not be read.
    """
    return dict(_Walk(root, descriptor).entries(descriptor, (), MAX_DEPTH))


class _Walk:
    """One look at everything in a folder."""

    def __init__(self, root: Path, descriptor: int) -> None:
        self._root = root
        self._descriptor = descriptor
        self._owner = os.fstat(descriptor).st_uid
        self._num_entries = 0
        self._devices = _devices_of_the_system()

    def entries(
        self, folder: int, parts: tuple[str, ...], depth: int
    ) -> Iterator[tuple[str, Entry]]:
        if os.fstat(folder).st_dev in self._devices:
            raise UsageError(
                f"{self._root.joinpath(*parts)} belongs to the running system; name the folder "
                "with the submission's files"
            )
        found = sorted(self._scanned(folder, parts))
        if parts and not found:
            yield "/".join(parts), empty_folder()
        for name, info in found:
            path = (*parts, name)
            problem = names.problem_of(path) or _problem_of(info, self._owner)
            if names.is_skipped(name) and not stat.S_ISREG(info.st_mode):
                problem = IS_OF_A_TOOL
            if problem:
                yield names.shown(path), left_out(problem)
            elif stat.S_ISREG(info.st_mode):
                yield "/".join(path), Entry(partial(self._read, path, info.st_size), info.st_size)
        for name, info in found:
            path = (*parts, name)
            is_wanted = stat.S_ISDIR(info.st_mode) and not names.is_skipped(name)
            if not is_wanted or names.problem_of(path):
                continue
            if depth == 1:
                yield (
                    names.shown(path),
                    left_out(f"is {len(path) - 1} folders deep, {names.TOO_DEEP}"),
                )
            else:
                with self._opened(folder, name, path) as below:
                    yield from self.entries(below, path, depth - 1)

    def _scanned(self, folder: int, parts: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
        with self._naming(parts), os.scandir(folder) as entries:
            for entry in entries:
                self._num_entries += 1
                if self._num_entries > MAX_ENTRIES:
                    raise UsageError(
                        f"{self._root} contains more than {MAX_ENTRIES} files and folders; hand in "
                        "only the files that the assignment asks for"
                    )
                yield entry.name, entry.stat(follow_symlinks=False)

    def _read(self, path: tuple[str, ...], num_bytes: int) -> bytes:
        """Return the content of a file. Raises UsageError if it no longer has num_bytes."""
        changed = UsageError(
            f"{self._root.joinpath(*path)} changed while it was being read; try again when no "
            "program is writing to it"
        )
        descriptor = os.dup(self._descriptor)
        try:
            for depth, name in enumerate(path, 1):
                flags = 0 if depth == len(path) else os.O_DIRECTORY
                with self._naming(path):
                    below = os.open(name, _OPEN | flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode) or _problem_of(info, self._owner):
                raise changed
            with os.fdopen(os.dup(descriptor), "rb") as file:
                content = file.read(min(num_bytes, MAX_FILE_NUM_BYTES) + 1)
        except PermissionError:
            raise
        except OSError:
            raise changed from None
        finally:
            os.close(descriptor)
        if len(content) != num_bytes:
            raise changed
        return content

    @contextmanager
    def _opened(self, folder: int, name: str, path: tuple[str, ...]) -> Iterator[int]:
        with self._naming(path):
            descriptor = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _naming(self, path: tuple[str, ...]) -> Iterator[None]:
        """Let errors of the system name the whole path."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._root.joinpath(*path))
            raise


def _problem_of(info: os.stat_result, owner: int) -> str:
    """Return why a file is not read; empty for regular files, and for folders."""
    if stat.S_ISLNK(info.st_mode):
        return IS_A_LINK
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        return IS_SPECIAL
    # A hard link to another user's file leads as far as a symbolic link. One to the owner's own
    # file is harmless: tools that save space create them.
    if stat.S_ISREG(info.st_mode) and info.st_nlink > 1 and info.st_uid != owner:
        return "is a hard link to a file that another user owns"
    return ""


def _devices_of_the_system() -> set[int]:
    """Return the devices of folders whose files are not files: reading them can do anything."""
    devices = {path.stat().st_dev for path in _SYSTEM_FOLDERS if path.is_dir()}
    return devices - {Path("/").stat().st_dev}
