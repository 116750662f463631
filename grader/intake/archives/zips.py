"""The files of a zip, as Python's zipfile reads it: these are graded, shown and compared.

Another program may show others of a zip made by hand; no part of the grader or of a report does.
"""

import calendar
import stat
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from grader.intake.archives import names
from grader.intake.archives.entries import (
    DAMAGED,
    IS_A_LINK,
    IS_SPECIAL,
    MAX_ENTRIES,
    Entry,
    Listing,
    empty_folder,
    left_out,
)
from grader.model.errors import UsageError

NOT_A_ZIP = (zipfile.BadZipFile, *DAMAGED)
_MAGIC = b"PK"
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz")
_ENCRYPTED = 0x1
"""A flag of a file whose content nobody reads without a password."""
_WITH_MODES = (3, 19)
"""Unix and Darwin: what they zip has the modes of its files."""


class Members:
    """The members of an archive, listed by where they would lie."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._num_members = 0
        self._times: Counter[str] = Counter()
        self.listing: dict[str, Entry] = {}

    def place(self, member: str, is_folder: bool, problem: str) -> str | None:
        """List a folder or what is left out; return where a file lies. Raises UsageError."""
        self._num_members += 1
        if self._num_members > MAX_ENTRIES:
            raise UsageError(
                f"{self._path} contains more than {MAX_ENTRIES} files; hand in only the files that "
                "the assignment asks for"
            )
        found = names.in_archive(member)
        if found is None:
            return None
        parts, of_place = found
        if is_folder:
            if not of_place and not names.is_skipped(parts[-1]):
                self.listing.setdefault("/".join(parts), empty_folder())
            return None
        if of_place or problem:
            self.listing[names.shown(parts)] = left_out(of_place or problem)
            return None
        return "/".join(parts)

    def take(self, name: str, entry: Entry, time_s: int) -> None:
        """List a file; of several with a name the last one is read."""
        self._times[name] += 1
        times = self._times[name]
        remark = f"occurs {times} times in the archive; the last copy was read" if times > 1 else ""
        self.listing[name] = replace(entry, remark=remark, time_s=time_s)


def of_zip(file: BinaryIO, path: Path) -> Listing:
    """Return the files of a zip; one that would lead out of it is left out.

    file: open for as long as entries are read. Raises UsageError when it is no zip.
    """
    try:
        archive = zipfile.ZipFile(file)
    except NOT_A_ZIP as error:
        file.seek(0)
        if file.read(len(_MAGIC)) == _MAGIC:
            raise UsageError(
                f"{path} cannot be unpacked as a zip ({names.shown_text(str(error))[:200]}); make "
                "the zip again, or upload it again"
            ) from None
        if path.name.lower().endswith(_ARCHIVES):
            raise UsageError(
                f"{path} is not a readable archive: it is damaged or incomplete; "
                "make it again, or name the folder itself"
            ) from None
        raise UsageError(
            f"{path} is a file, not a folder; name a folder, or a zip or tar archive"
        ) from None
    members = Members(path)
    for member in archive.infolist():
        is_folder = member.filename.endswith(("/", "\\"))
        name = members.place(member.filename, is_folder, _problem_of(member))
        if name is not None:
            entry = Entry(_unpacking(archive, member, path), member.file_size)
            members.take(name, entry, _time_s(member))
    return members.listing


def _time_s(member: zipfile.ZipInfo) -> int:
    try:
        return max(0, calendar.timegm((*member.date_time, 0, 0, 0)))
    except ValueError:  # a month 0, say
        return 0


def _problem_of(member: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(member.external_attr >> 16)
    # Which systems' links a program makes is its own choice.
    if stat.S_ISLNK(kind):
        return IS_A_LINK
    return (
        IS_SPECIAL if member.create_system in _WITH_MODES and kind not in (0, stat.S_IFREG) else ""
    )


def _unpacking(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path
) -> Callable[[], bytes]:
    def unpack() -> bytes:
        # What every program that zips can do; the others unpack to far more than they announce.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UsageError(
                f"{path}: {member.filename} is compressed with an unsupported method; make the "
                "zip again with Deflate"
            )
        if member.flag_bits & _ENCRYPTED:
            raise UsageError(
                f"{path}: {member.filename} is encrypted; make the zip again without a password"
            )
        try:
            with archive.open(member) as packed:
                # Without a number, all is unpacked before it is cut to the size it announces.
                content = packed.read(member.file_size + 1)
            if len(content) < member.file_size:
                raise EOFError(f"it ends early, after {len(content)} bytes")
            return content
        except NOT_A_ZIP as error:
            raise UsageError(
                f"{path}: {member.filename} cannot be unpacked "
                f"({names.shown_text(str(error))[:200]}); make the zip again"
            ) from None

    return unpack
