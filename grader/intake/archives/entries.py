"""The files of a submission before they are read, and why some never are."""

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

MAX_DEPTH = 12
"""How many folders a path may have, and the file."""
MAX_ENTRIES = 100_000
"""Files and folders that are looked at."""
MAX_FILE_NUM_BYTES = 32 << 20
DAMAGED = (EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error, zlib.error)
"""What every reader of archives raises for bytes that somebody made up, beside its own errors."""
IS_A_LINK = "is a link, and links are not followed"
IS_SPECIAL = "is not a regular file"
IS_OF_NO_KIND = "is not of a type that the assignment uses"
IS_OF_A_TOOL = "belongs to a tool, not to the submission"


@dataclass(frozen=True)
class Entry:
    """A file that lies somewhere and has not been read yet."""

    read: Callable[[], bytes]
    num_bytes: int
    problem: str = ""
    """Why it is not read, as the end of a sentence that begins with `it`; empty if it is read."""
    remark: str = ""
    """What to say of it all the same, as the end of a sentence that begins with its name."""
    time_s: int = 0
    """When it was last written, in an archive that says so."""
    is_folder: bool = False
    """A folder, listed because nothing that is listed lies in it."""


Listing = Mapping[str, Entry]
"""By relative path, files and folders without any; that of one with a problem is for showing."""


def in_memory(content: bytes) -> Entry:
    """Return the entry of a file whose content is here already."""
    return Entry(lambda: content, len(content))


def empty_folder() -> Entry:
    """Return the entry of a folder that holds nothing that is read."""
    return Entry(lambda: b"", 0, is_folder=True)


def left_out(problem: str) -> Entry:
    """Return the entry of something that is not read."""
    return Entry(lambda: b"", 0, problem=problem)
