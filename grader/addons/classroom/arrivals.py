"""Reads the folder of a class: its hand-ins, and entries that cannot be graded."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from grader.addons.classroom.hand_in_names import (
    BEGIN_WITH_ASSIGNMENT,
    PLATFORMS,
    Named,
    Naming,
    is_archive,
)
from grader.addons.classroom.roster import HandIn
from grader.addons.classroom.tables import read_table
from grader.intake.archives.names import is_skipped
from grader.model.errors import UsageError

_OF_GRADESCOPE = "submission_metadata.yml"
_MAX_NUM_BYTES = 64 << 20
_MAX_FILES = 20_000
_OF_SYSTEMS = (".DS_Store", "Thumbs.db", "desktop.ini")
_NOT_HANDED_IN = (".", "__MACOSX", *_OF_SYSTEMS)
"""Beginnings of names that operating systems create next to the hand-ins."""
_OURS = (".csv", ".toml", ".yml", ".yaml", ".md", ".pdf", ".html")
"""Suffixes of files that an instructor keeps next to the hand-ins."""
_OF_PLATFORMS = ("_assignsubmission_", "_attempt_")
"""Only platforms write these into names, even if the rest does not fit the platform."""
_CALLED = {each: each.capitalize() for each in PLATFORMS} | {"github": "GitHub"}
_TIMES_COLUMNS = ("hand_in", "submitted_at")
_IDENTIFIER, _WHEN = "identifier", "last modified (submission)"
_MOODLE_TIMES = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%A, %B %d, %Y, %H:%M",
)
"""How Moodle writes times in British and American English, with 12 and with 24 hours."""


def read_folder(folder: Path, assembled: Path, zone: tzinfo, naming: Naming) -> list[HandIn]:
    """Return all hand-ins in the order of their names, including those that cannot be graded.

    assembled: where loose files of one submission are put together, each in a folder of its own.
    zone: of times that a platform writes without one. Raises UsageError for
    names of a platform that class.toml does not declare.
    """
    facts = _of_gradescope(folder, zone) if naming.platform == "gradescope" else {}
    try:
        by_label = _by_label(folder, naming)
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be read: {error.strerror}; give yourself permission to read it"
        ) from None
    # Names with several readings, by the label of each: every such hand-in may be incomplete.
    unsure = {
        label: f"{label} may be missing a file: {named.problem}"
        for entries in by_label.values()
        for named, _ in entries
        for label in named.maybe_of
    }
    found = []
    for label, entries in sorted(by_label.items()):
        bare = replace(_without_files(label, entries, zone), **facts.get(label, {}))
        if problem := entries[0][0].problem or unsure.get(label, ""):
            found.append(replace(bare, problem=problem))
        else:
            found.append(_with_files(bare, entries, assembled / label))
    return found


def _with_files(bare: HandIn, entries: Sequence[tuple[Named, Path]], assembled: Path) -> HandIn:
    try:
        if any(path.is_symlink() for _, path in entries):
            raise ValueError("it is a link; replace it with a copy of the files")
        path = _path(entries, assembled)
        return replace(bare, path=path, digest=digest_of(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if set(bare.who) == {"id"} and bare.path.is_file():  # called `alee.py`, perhaps
            bare = replace(bare, who={"id": bare.path.stem})
        return replace(bare, problem=f"{bare.label} cannot be read: {reason}")


def naming_of(folder: Path, naming: Naming) -> Naming:
    """Return the naming of a folder's files, inferred if class.toml does not declare it."""
    try:
        entries = [each for each in folder.iterdir() if not each.name.startswith(_NOT_HANDED_IN)]
    except OSError:  # read_folder reports it
        return naming
    return naming.or_inferred(
        each.name for each in entries if each.is_dir() or each.suffix.lower() not in _OURS
    )


def _by_label(folder: Path, naming: Naming) -> Mapping[str, Sequence[tuple[Named, Path]]]:
    groups: dict[str, list[tuple[Named, Path]]] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(_NOT_HANDED_IN):
            continue
        named = naming.parse(path.name)
        is_loose = path.is_file() and not named.file and not named.is_about
        is_theirs = naming.platform and any(each in path.name for each in _OF_PLATFORMS)
        if is_loose and path.suffix.lower() in _OURS and not is_theirs:
            continue
        if platform := naming.undeclared(path.name):
            title = " and platform_assignment" if platform in BEGIN_WITH_ASSIGNMENT else ""
            raise UsageError(
                f"{path} looks like a hand-in from {_CALLED[platform]}. If all hand-ins are from "
                f'there, write platform = "{platform}"{title} in class.toml; otherwise, rename '
                "this one to its author's id"
            )
        groups.setdefault(named.label, []).append((named, path))
    return groups


def _without_files(label: str, entries: Sequence[tuple[Named, Path]], zone: tzinfo) -> HandIn:
    """Return what names say about a hand-in, without opening it."""
    named, path = min(entries, key=lambda entry: entry[0].is_about)
    return HandIn(
        label=label,
        who=named.who,
        path=path,
        digest="",
        submitted_at=zoned(named.local_time, zone) if named.local_time else None,
        is_called_late=any(each.is_called_late for each, _ in entries),
        sent_as=named.sent_as,
        files=tuple(path for _, path in entries),
    )


def _of_gradescope(folder: Path, zone: tzinfo) -> Mapping[str, Mapping[str, Any]]:
    """Return what Gradescope tells of submissions, by their folders. Raises UsageError."""
    file = folder / _OF_GRADESCOPE
    if not file.exists():
        return {}
    import yaml

    try:
        with file.open("rb") as stream:
            data = yaml.safe_load(stream.read(_MAX_NUM_BYTES))
        return {str(name): _facts(str(name), entry, zone) for name, entry in data.items()}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(
            f"{file} is not an export from Gradescope: expected a table of submissions with "
            ":submitters: and :created_at:; export the submissions again, or remove the file"
        ) from None


def _facts(name: str, entry: Mapping[str, Any], zone: tzinfo) -> Mapping[str, Any]:
    """Return fields of a HandIn; keys of the entry are Ruby's symbols, with a colon before them."""
    columns = (("name", ":name"), ("id", ":sid"), ("email", ":email"))
    authors = [
        {column: str(each[key]) for column, key in columns if each.get(key)}
        for each in entry[":submitters"]
    ]
    at = entry.get(":created_at")
    at = datetime.fromisoformat(at) if isinstance(at, str) else at
    if not authors:
        return {}
    return {
        "who": {"gradescope": name.partition("_")[2], **authors[0]},
        "other_authors": tuple(authors[1:]),
        "submitted_at": zoned(at, zone) if isinstance(at, datetime) else None,
    }


def _path(entries: Sequence[tuple[Named, Path]], assembled: Path) -> Path:
    """Return the path to grade. Raises ValueError or OSError if there is none."""
    entries = [(named, path) for named, path in entries if not named.is_about]
    if not entries:
        raise ValueError("no file was handed in, only text typed into the platform")
    first, path = entries[0]
    if not path.is_dir() and not first.file:
        raise ValueError("expected a folder or an archive (.zip, .tar, .tar.gz)")
    if len(entries) > 1 or (path.is_file() and not is_archive(first.file)):
        return _put_together(entries, assembled)
    return (_only_archive_in(path) or path) if path.is_dir() else path


def _put_together(entries: Sequence[tuple[Named, Path]], target: Path) -> Path:
    """Copy loose files into a folder under the names that their student had given them."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    befores = [named.file_before for named, _ in entries]
    for named, path in entries:
        if not _is_regular(path):
            raise ValueError(
                f"{path.name} is not a file, but the same student also handed in files; keep "
                "only what counts"
            )
        is_free = named.file_before and befores.count(named.file_before) == 1
        name = named.file_before if is_free else named.file
        copy = target / (name or path.name)
        if copy.exists():
            raise ValueError(
                f"two of its files are called {copy.name}; keep only the one that counts"
            )
        shutil.copyfile(path, copy, follow_symlinks=False)
    return _only_archive_in(target) or target


def _only_archive_in(folder: Path) -> Path | None:
    """Return the archive if a folder contains nothing else, as platforms deliver it, else None."""
    inside = [path for path in folder.iterdir() if not path.name.startswith(_NOT_HANDED_IN)]
    if len(inside) == 1 and is_archive(inside[0].name) and _is_regular(inside[0]):
        return inside[0]
    return None


def _is_regular(path: Path) -> bool:
    """Return whether it is a file and not a link: the target of a link was not handed in."""
    return stat.S_ISREG(path.lstat().st_mode)


def digest_of(path: Path) -> str:
    """Return the SHA-256 over the names and contents of a folder, or over those of a file.

    A link counts by where it leads, and is not followed. Raises ValueError for too many files.
    """
    digest = hashlib.sha256()
    for number, (name, each) in enumerate(_files(path)):
        if number >= _MAX_FILES:
            raise ValueError(f"it has more than {_MAX_FILES} files")
        mode = each.lstat().st_mode
        if stat.S_ISLNK(mode):
            _add(digest, name, os.fsencode(os.readlink(each)))  # noqa: PTH115 - as bytes
        elif stat.S_ISREG(mode):
            _add(digest, name, _content_digest(each))
        else:
            _add(digest, name, b"special")
    return digest.hexdigest()


def _files(path: Path) -> Iterator[tuple[bytes, Path]]:
    if not path.is_dir():
        yield b"", path
        return
    for folder, folders, files in os.walk(path, onerror=_raise):
        # Files of git, Python and the system may change without a change to the hand-in.
        folders[:] = sorted(each for each in folders if not is_skipped(each))
        links = [each for each in folders if (Path(folder) / each).is_symlink()]
        for name in sorted([*(each for each in files if each not in _OF_SYSTEMS), *links]):
            each = Path(folder) / name
            yield os.fsencode(each.relative_to(path)), each


def _raise(error: OSError) -> None:
    raise error


def _content_digest(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        return hashlib.file_digest(file, "sha256").digest()


def _add(digest: "hashlib._Hash", name: bytes, content: bytes) -> None:
    digest.update(b"%d %b %d %b" % (len(name), name, len(content), content))


def read_times(file: Path, zone: tzinfo) -> dict[str, datetime]:
    """Return when each hand-in was submitted, by what the platform has called it.

    file: a CSV with the columns hand_in and submitted_at, or Moodle's offline grading worksheet.
    Raises UsageError with the line that is wrong.
    """
    rows = read_table(file)
    if rows and {_IDENTIFIER, _WHEN} <= rows[0][1].keys():
        return dict(_of_worksheet(file, rows, zone))
    times = {}
    for number, row in read_table(file, required=_TIMES_COLUMNS, known=_TIMES_COLUMNS):
        if row["hand_in"] in times:
            raise UsageError(f"{file}, line {number}: {row['hand_in']} appears twice")
        try:
            if ":" not in row["submitted_at"]:
                raise ValueError("a day is not a time")
            times[row["hand_in"]] = zoned(datetime.fromisoformat(row["submitted_at"]), zone)
        except ValueError:
            raise UsageError(
                f"{file}, line {number}: found {row['submitted_at']!r:.40}; expected a time such "
                "as 2026-11-20T23:59:00+01:00"
            ) from None
    return times


def _of_worksheet(
    file: Path, rows: Sequence[tuple[int, Mapping[str, str]]], zone: tzinfo
) -> Iterator[tuple[str, datetime]]:
    """Yield the folder that Moodle delivers, by its name, and the time of each submission."""
    for number, row in rows:
        if row[_WHEN] in ("", "-"):
            continue
        at = next(filter(None, (_parsed(row[_WHEN], form) for form in _MOODLE_TIMES)), None)
        if at is None:
            raise UsageError(
                f"{file}, line {number}: found {row[_WHEN]!r:.60}; expected a time as Moodle "
                "writes it in English, such as Friday, 20 November 2026, 11:58 PM"
            )
        participant = row[_IDENTIFIER].rpartition(" ")[2]
        if not participant.isdecimal():
            raise UsageError(
                f"{file}, line {number}: found the identifier {row[_IDENTIFIER]!r:.60}; expected "
                "one as Moodle writes it in English, such as Participant 4711"
            )
        # As in Moodle's own names; the number alone decides whose it is.
        name = (row.get("full name") or "Participant").replace("_", " ")
        yield f"{name}_{participant}_assignsubmission_file_", at.replace(tzinfo=zone)


def _parsed(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)
    except ValueError:
        return None


def with_times(
    hand_ins: Sequence[HandIn], times: Mapping[str, datetime], naming: Naming
) -> tuple[list[HandIn], list[str]]:
    """Return the hand-ins with the times of a table, and its names without a hand-in."""
    # A table may name the folder, the archive or the file: all of them have the same label.
    by_key: dict[str, datetime] = {}
    labels: dict[str, str] = {}
    for name, at in times.items():
        named = naming.parse(name)
        key = _key(named)
        # A submission of several files is complete with the last one.
        by_key[key] = max(at, by_key.get(key, at), key=datetime.timestamp)
        labels[key] = named.label
    timed = [
        replace(each, submitted_at=by_key.get(_key(each), each.submitted_at)) for each in hand_ins
    ]
    known = set(map(_key, hand_ins))
    return timed, sorted(label for key, label in labels.items() if key not in known)


def _key(each: HandIn | Named) -> str:
    """Return what identifies a hand-in: Moodle's number, because names may change, or the label."""
    return f"moodle {each.who['moodle']}" if "moodle" in each.who else each.label


def zoned(at: datetime, zone: tzinfo) -> datetime:
    """Return a time with a zone."""
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)
