"""What a student handed in: listed in a folder or an archive, read once, never executed here.

What is read here may be of hostile make: grader.intake does it in a process of its own.
"""

import hashlib
import io
import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from grader.intake import notebook
from grader.intake.archives import entries, names, source_text
from grader.intake.archives.entries import (
    IS_OF_A_TOOL,
    IS_OF_NO_KIND,
    MAX_FILE_NUM_BYTES,
    Entry,
    Listing,
)
from grader.intake.archives.folder import of_folder
from grader.intake.archives.source_text import SourceText
from grader.intake.archives.tars import is_tar, of_tar
from grader.intake.archives.zips import of_zip
from grader.model.errors import UsageError
from grader.model.paths import folders_above, nearness

MAX_FILES = 2000
MAX_NOT_READ = 2000
MAX_FOLDERS = 100
MAX_TOTAL_NUM_BYTES = 128 << 20
_MAX_ARCHIVE_NUM_BYTES = 1 << 30
_MAX_NOTES = 20
_MAX_OPENED = 10
_MAX_NOTEBOOKS = 20
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
NOT_OPENED = (".rar", ".7z")
IS_EMPTY = "is empty"
"""How the reason begins why nothing of a submission can be graded, behind its name."""
_TOO_MUCH = f"would exceed the limit of {MAX_TOTAL_NUM_BYTES >> 20} MiB for all files together"
_WAS_OPENED = "is an archive; its contents were read instead"


@dataclass(frozen=True)
class Submission:
    """Everything of one hand-in that was read, and why the rest was not."""

    origin: str
    """As the user named it."""
    files: Mapping[str, bytes]
    """By path in the hand-in. What lies in an archive, and what the cells of a notebook write, lies
    in a folder of its name."""
    digest: str
    """SHA-256 over contents of files, and paths of files and folders from the one all lie in."""
    not_read: Mapping[str, str] = field(default_factory=dict)
    """Why other files were not read, as the end of a sentence that begins with `it`."""
    times: Mapping[str, int] = field(default_factory=dict)
    """When files of archives were last written, in seconds; of those that say so."""
    notes: tuple[str, ...] = ()
    """What to say of how it was read."""
    folders: tuple[str, ...] = ()
    """Those in which no script lies: a program may write there."""


def of_files(
    origin: str,
    files: Mapping[str, bytes],
    not_read: Mapping[str, str] | None = None,
    times: Mapping[str, int] | None = None,
    notes: tuple[str, ...] = (),
    folders: tuple[str, ...] = (),
) -> Submission:
    """Return the submission of exactly these files and folders, with its digest."""
    ordered = {name: files[name] for name in sorted(files)}
    common = os.path.commonpath([f"/{PurePosixPath(name).parent}" for name in ordered] or ["/"])
    digest = hashlib.sha256()
    for name, content in ordered.items():
        inside = os.path.relpath(f"/{name}", common)
        digest.update(f"{len(inside)} {inside} {len(content)} ".encode() + content)
    for name in folders:
        inside = os.path.relpath(f"/{name}", common)
        digest.update(f"{len(inside)} {inside} folder ".encode())
    found = digest.hexdigest()
    return Submission(origin, ordered, found, not_read or {}, times or {}, notes, folders)


def read(path: Path, wanted: Collection[str]) -> Submission:
    """Read a folder, a zip or tar, or a single script.

    wanted: the relative paths that assignments ask for: what else is read beside scripts.
    Raises UsageError when there is nothing to grade.
    """
    name = names.shortened(str(path))
    try:
        if not path.exists():
            raise UsageError(f"{name} does not exist; name the folder with the submission's files")
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{name} is neither a folder nor a zip or tar archive")
        # Should it be a pipe by now, opening it does not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return _submission(str(path), of_folder(path, descriptor), wanted)
            return _of_file(path, descriptor, wanted)
        finally:
            os.close(descriptor)
    except PermissionError as error:
        raise UsageError(
            f"{names.shortened(error.filename or name)} cannot be read; check its permissions and "
            f"those of the folders above it: chmod -R a+rX {name}. "
            "`grade run` reads files with your permissions"
        ) from None
    except FileNotFoundError:
        raise UsageError(f"{name} changed while it was being read; try again") from None
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}; name the folder with the submission's files"
        ) from None


def _of_file(path: Path, descriptor: int, wanted: Collection[str]) -> Submission:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{path} changed while it was being read; try again")
    is_script = path.suffix.lower() in (".py", ".ipynb")
    if info.st_size > (MAX_FILE_NUM_BYTES if is_script else _MAX_ARCHIVE_NUM_BYTES):
        most = MAX_FILE_NUM_BYTES if is_script else _MAX_ARCHIVE_NUM_BYTES
        raise UsageError(f"{path} is larger than {most >> 20} MiB; leave data files out")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        if is_script:
            problem = names.problem_of((path.name,))
            script = replace(entries.in_memory(file.read()), problem=problem)
            return _submission(str(path), {names.shown((path.name,)): script}, wanted)
        found = of_tar(file, path, wanted) if is_tar(file) else of_zip(file, path)
        return _submission(str(path), found, wanted)


def _submission(origin: str, listed: Listing, wanted: Collection[str]) -> Submission:
    kinds = kinds_of(wanted)
    everything, notes = _with_opened(listed, wanted)
    found = {name: entry for name, entry in everything.items() if not entry.is_folder}
    if all(is_hidden(name) or entry.problem == IS_OF_A_TOOL for name, entry in found.items()):
        names_there = sorted(name for name in found if found[name].problem != IS_OF_A_TOOL)
        hidden = f" ({names_there[0]} is a hidden file)" if names_there else ""
        raise UsageError(f"{origin} {IS_EMPTY}{hidden}; expected the files that the handout names")
    files: dict[str, bytes] = {}
    not_read: dict[str, str] = {}
    num_bytes = 0
    for name in sorted(found, key=nearness):
        entry = found[name]
        reason = _reason(name, entry, kinds) or _problem_of_place(name, files)
        if not reason and len(files) == MAX_FILES:
            reason = f"exceeds the limit of {MAX_FILES} files"
        if not reason and num_bytes + entry.num_bytes > MAX_TOTAL_NUM_BYTES:
            reason = _TOO_MUCH
        if not reason:
            try:
                is_python, content = name.lower().endswith(".py"), entry.read()
                text = source_text.read(content) if is_python else SourceText(content)
                reason = text.problem
            except UsageError as error:
                if name in listed:  # what was made by hand, not by a platform, can be made again
                    raise
                reason = f"cannot be read: {error}"
        if not reason and num_bytes + len(text.content) > MAX_TOTAL_NUM_BYTES:
            reason = _TOO_MUCH
        if reason:
            not_read[name] = reason
            continue
        files[name] = text.content
        num_bytes += len(text.content)
        notes += [f"{name} {text.remark}"] if text.remark else []
    _require_something(origin, files, not_read, found)
    notes += [f"{name} {found[name].remark}" for name in sorted(files) if found[name].remark]
    notes += [
        (f"{' and '.join(each)} are the same name on some systems") for each in names.alike(files)
    ]
    if len(not_read) > MAX_NOT_READ:
        notes.insert(
            0, f"files that were not read and are not listed: {len(not_read) - MAX_NOT_READ}"
        )
    more = len(notes) - _MAX_NOTES
    return of_files(
        origin,
        files,
        dict(list(not_read.items())[:MAX_NOT_READ]),
        {name: found[name].time_s for name in files if found[name].time_s},
        (*notes[:_MAX_NOTES], *([f"and {more} more, not shown"] if more > 0 else [])),
        _folders(everything, files),
    )


def _folders(listed: Listing, files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the folders in which no script lies, at most so many, the nearest first."""
    usable = {name: entry for name, entry in listed.items() if entry.problem in ("", IS_OF_NO_KIND)}
    there = {name for name, entry in usable.items() if entry.is_folder}
    there |= {folder for name in usable for folder in folders_above(name)}
    scripts = [name for name in files if name.lower().endswith(".py")]
    taken = {folder for name in scripts for folder in folders_above(name)}
    others = {name for name, entry in listed.items() if not entry.is_folder}
    found = [
        name
        for name in there - taken - others
        if not is_hidden(name)
        and not others.intersection(folders_above(name))
        and not names.problem_of(name.split("/"))
    ]
    return tuple(sorted(found, key=nearness)[:MAX_FOLDERS])


def _with_opened(listed: Listing, wanted: Collection[str]) -> tuple[dict[str, Entry], list[str]]:
    """Return all files, with those in archives and those that notebooks write in folders."""
    found, notes = dict(listed), list[str]()
    num_bytes = 0
    for number, name in enumerate(_nearest(found, ARCHIVES)):
        try:
            if number >= _MAX_OPENED:
                raise UsageError(f"there are too many archives; only {_MAX_OPENED} are opened")
            if num_bytes <= MAX_TOTAL_NUM_BYTES:  # else none is unpacked any more
                inside = _opened(name, listed[name].read(), wanted)
                num_bytes += sum(each.num_bytes for each in inside.values() if not each.problem)
            if num_bytes > MAX_TOTAL_NUM_BYTES:
                raise UsageError(f"the archives contain more than {MAX_TOTAL_NUM_BYTES >> 20} MiB")
        except UsageError as error:
            found[name] = replace(found[name], problem=f"cannot be opened: {error}")
            continue
        found |= inside
        found[name] = replace(listed[name], problem=_WAS_OPENED)
        notes.append(f"{name} was opened")
    notebooks = _nearest(found, (".ipynb",))
    for name in notebooks[:_MAX_NOTEBOOKS]:
        try:
            written = notebook.read(found[name].read())
        except UsageError as error:
            if name in listed:
                raise
            found[name] = replace(found[name], problem=f"cannot be read: {error}")
            continue
        for file, content in written.files.items():
            found.setdefault(f"{name}/{file}", entries.in_memory(content))
        problem = "; it ".join(written.problems[:3]) or "is a notebook; its cells were read instead"
        found[name] = replace(found[name], problem=problem)
        if written.files:
            notes.append(f"read from the cells of {name}: {', '.join(sorted(written.files))}")
    for name in notebooks[_MAX_NOTEBOOKS:]:
        problem = f"exceeds the limit of {_MAX_NOTEBOOKS} notebooks"
        found[name] = replace(found[name], problem=problem)
    return found, notes


def _nearest(found: Listing, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files of some kinds that can be read, the nearest first."""
    fitting = [
        name
        for name, entry in found.items()
        if name.lower().endswith(suffixes) and not is_hidden(name) and not entry.is_folder
    ]
    readable = [name for name in fitting if not _problem_of(found[name])]
    return sorted(readable, key=nearness)


def _opened(name: str, packed: bytes, wanted: Collection[str]) -> dict[str, Entry]:
    """Return the files of an archive in the hand-in. Raises UsageError for one that is damaged."""
    path, file = Path(name), io.BytesIO(packed)
    inside = of_tar(file, path, wanted) if is_tar(file) else of_zip(file, path)
    kinds = {*kinds_of(wanted), ".ipynb"}
    found = {}
    for each, entry in inside.items():
        problem = "" if entry.is_folder else _reason(each, entry, kinds)
        # Without its content, where that is not read.
        found[f"{name}/{each}"] = entries.left_out(problem) if problem else entry
    return found


def _reason(name: str, entry: Entry, kinds: Collection[str]) -> str:
    """Return why a file is not read; empty if it is."""
    if name.lower().endswith(NOT_OPENED):
        return "is an archive of an unsupported type; unpack it, and pack its files as a zip"
    if problem := _problem_of(entry):
        return problem
    if not is_hidden(name) and PurePosixPath(name).suffix.lower() in kinds:
        return ""
    return "is hidden" if is_hidden(name) else IS_OF_NO_KIND


def _problem_of_place(name: str, files: Mapping[str, bytes]) -> str:
    """Return what is wrong with the place of a file, given those above it; empty if nothing."""
    if any(folder in files for folder in folders_above(name)):
        return "is in a folder with the same name as a file"
    return names.problem_of(name.split("/"))


def _problem_of(entry: Entry) -> str:
    if entry.problem or entry.num_bytes <= MAX_FILE_NUM_BYTES:
        return entry.problem
    return f"is larger than {MAX_FILE_NUM_BYTES >> 20} MiB"


def _require_something(
    origin: str, files: Mapping[str, bytes], not_read: Mapping[str, str], found: Mapping[str, Entry]
) -> None:
    """Raise UsageError when no file can be graded, and one could not be read that might be."""
    if any(name.lower().endswith(".py") for name in files):
        return
    for name in sorted(not_read, key=nearness):
        problem = found[name].problem
        if is_hidden(name) or problem in (IS_OF_A_TOOL, _WAS_OPENED):
            continue
        is_broken = problem not in ("", IS_OF_NO_KIND)
        if is_broken or name.lower().endswith((".py", ".ipynb", *ARCHIVES, *NOT_OPENED)):
            advice = "" if ";" in not_read[name] else "; hand in the scripts themselves"
            raise UsageError(
                f"{origin} contains no readable script: {name} {not_read[name]}{advice}"
            )


def kinds_of(wanted: Collection[str]) -> set[str]:
    """Return the suffixes of files that are read: scripts, and whatever else is asked for."""
    return {".py", *(PurePosixPath(name).suffix.lower() for name in wanted)}


def is_hidden(name: str) -> bool:
    """Return whether a file, or a folder above it, has a name that begins with a dot."""
    return any(part.startswith(".") for part in name.split("/"))
