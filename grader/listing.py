"""Lists the files of a folder or a zip; each is read only when it is asked for."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath, PurePosixPath

from grader.errors import UsageError

MAX_DEPTH = 3
"""A file may be as deep as part1/main.py in a folder of the submission."""
_MAX_FILES = 100_000
_MAX_NAME_NUM_BYTES = 255
_SKIPPED_FOLDERS = {"__pycache__", "__MACOSX", "node_modules", "venv"}
"""And all whose names begin with a dot."""


@dataclass(frozen=True)
class Entry:
    """A file that lies somewhere and has not been read yet."""

    read: Callable[[], bytes]
    num_bytes: int
    is_written: bool = False
    """By a cell of a notebook."""


Listing = Mapping[str, Entry]
"""Files by relative path."""


def in_memory(content: bytes) -> Entry:
    """Return the entry of a file whose content is here already."""
    return Entry(lambda: content, len(content))


def of_folder(root: Path) -> Listing:
    """Return the regular files of a folder and of the folders in it; links are not followed."""
    return dict(islice(_walk(root, root, MAX_DEPTH), _MAX_FILES))


def of_zip(path: Path) -> Listing:
    """Return the files of a zip; one that would lead out of it is left out.

    Raises UsageError when the file is no zip.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error):
        raise UsageError(
            f"{path} is a file, not a folder; a folder or a zip of one is expected"
        ) from None
    listing = {}
    for member in archive.infolist()[:_MAX_FILES]:
        # Some programs write the separators of their own system.
        name = PurePosixPath(member.filename.replace("\\", "/"))
        leads_out = name.is_absolute() or ".." in name.parts
        if member.is_dir() or leads_out or not 1 <= len(name.parts) <= MAX_DEPTH:
            continue
        if not can_be_name(name):
            continue
        if not any(map(_is_skipped, name.parts[:-1])):
            listing[name.as_posix()] = Entry(_unpacking(archive, member, path), member.file_size)
    return listing


def _walk(root: Path, folder: Path, depth: int) -> Iterator[tuple[str, Entry]]:
    entries = sorted(entry for entry in folder.iterdir() if not entry.is_symlink())
    for entry in entries:
        if entry.is_file() and can_be_name(entry.relative_to(root)):
            name = entry.relative_to(root).as_posix()
            yield name, Entry(entry.read_bytes, entry.stat().st_size)
    for entry in entries:
        if depth > 1 and entry.is_dir() and not _is_skipped(entry.name):
            yield from _walk(root, entry, depth - 1)


def can_be_name(path: PurePath) -> bool:
    """Return whether any system can hold a file of this name, and any text name it."""
    try:
        return all(len(part.encode()) <= _MAX_NAME_NUM_BYTES for part in path.parts) and (
            "\0" not in str(path)
        )
    except UnicodeEncodeError:
        return False


def _is_skipped(folder: str) -> bool:
    return folder in _SKIPPED_FOLDERS or folder.startswith(".")


def _unpacking(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path
) -> Callable[[], bytes]:
    def unpack() -> bytes:
        # What every program that zips can do; the others unpack to far more than they announce.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UsageError(
                f"{path}: {member.filename} is packed in a way that is not read; make the zip "
                "again in the usual way (deflate)"
            )
        try:
            # Never longer than the size it announces.
            return archive.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
            raise UsageError(
                f"{path}: {member.filename} in it cannot be unpacked ({error}); make the zip again"
            ) from None

    return unpack
