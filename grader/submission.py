"""What a student handed in: found in a folder or an archive, read once, never executed here.

What is read here may be of hostile make: grader.intake does it in a process of its own.
"""

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import choosing, inner_archives, notebook, remarks
from grader.errors import UsageError
from grader.listing import names
from grader.listing.entries import MAX_FILE_NUM_BYTES, Entry, Listing
from grader.listing.folder import of_folder
from grader.listing.tars import is_tar, of_tar
from grader.listing.zips import of_zip

MAX_FILES = 2000
MAX_FOUND = 200
MAX_TOTAL_NUM_BYTES = 128 << 20
_MAX_ARCHIVE_NUM_BYTES = 1 << 30
_MAX_NOTEBOOKS = 20
_MAX_NOTES = 20


@dataclass(frozen=True)
class Submission:
    """The files of one submission, by path relative to the folder that counts."""

    origin: str
    """As the user named it."""
    files: Mapping[str, bytes]
    digest: str
    """SHA-256 over names and contents of the files."""
    from_notebooks: frozenset[str] = frozenset()
    """Those of the files that cells of a notebook would write."""
    notes: tuple[str, ...] = ()
    """What was read from where, and what was not."""
    found: tuple[str, ...] = ()
    """What there was, the nearest first and at most so many, by path in what was handed in."""

    def source_files(self, support: Iterable[str]) -> dict[str, bytes]:
        """Return the Python files a rank may import; support files are always the grader's."""
        ours = set(support)
        return {
            name: content
            for name, content in self.files.items()
            if name.endswith(".py") and name not in ours
        }


def of_files(
    origin: str,
    files: Mapping[str, bytes],
    from_notebooks: frozenset[str] = frozenset(),
    notes: tuple[str, ...] = (),
    found: tuple[str, ...] = (),
) -> Submission:
    """Return the submission of exactly these files, with its digest."""
    ordered = {name: files[name] for name in sorted(files)}
    digest = hashlib.sha256()
    for name, content in ordered.items():
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return Submission(origin, ordered, digest.hexdigest(), from_notebooks, notes, found)


def read(path: Path, wanted: Iterable[str]) -> Submission:
    """Read a folder, zip or tar; the submission's files may lie in its root or one folder down.

    wanted: the relative paths that assignments ask for, which tell the folder that counts.
    Raises UsageError when there is nothing to grade.
    """
    name = names.shortened(str(path))
    try:
        if not path.exists():
            raise UsageError(f"{name} does not exist; name the folder with the submission's files")
        if not path.is_dir() and not path.is_file():
            raise UsageError(
                f"{name} is neither a folder nor a zip or tar, one of which is expected"
            )
        # Should it be a pipe by now, opening it does not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                return _submission(str(path), of_folder(path, descriptor), set(wanted))
            return _of_archive(path, descriptor, set(wanted))
        finally:
            os.close(descriptor)
    except PermissionError as error:
        raise UsageError(
            f"{names.shortened(error.filename or name)} cannot be read; check its permissions and "
            f"those of the folders above it (chmod -R a+rX {name}): `grade run` reads it as the "
            "user who calls it"
        ) from None
    except FileNotFoundError:
        raise UsageError(f"{name} changed while it was read; try again") from None
    except OSError as error:
        raise UsageError(
            f"{name} cannot be read: {error.strerror}; name the folder with the submission's files"
        ) from None


def _of_archive(path: Path, descriptor: int, wanted: set[str]) -> Submission:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{path} changed while it was read; try again")
    if info.st_size > _MAX_ARCHIVE_NUM_BYTES:
        raise UsageError(
            f"{path} has more than {_MAX_ARCHIVE_NUM_BYTES >> 20} MiB; leave data files out"
        )
    with os.fdopen(os.dup(descriptor), "rb") as file:
        found = of_tar(file, path, wanted) if is_tar(file) else of_zip(file, path)
        return _submission(str(path), found, wanted)


def _submission(origin: str, listed: Listing, wanted: set[str]) -> Submission:
    found, opened = inner_archives.opened(origin, listed, _problems_of(listed), wanted)
    problems = _problems_of(found)
    loose = {name: entry for name, entry in found.items() if not problems[name]}
    # The nearest first, so that no heap of others further down keeps the right one from being read.
    all_notebooks = sorted(filter(choosing.is_notebook, loose), key=_nearness)
    notebooks = {name: notebook.read(loose[name].read()) for name in all_notebooks[:_MAX_NOTEBOOKS]}
    _require_something(origin, loose, notebooks, problems)
    listing = {**choosing.written_by(notebooks, wanted), **loose}
    root = choosing.root_of(listing, wanted)
    there = choosing.below(root, listing)
    kept = choosing.kept_of(there, wanted)
    _require_moderation(origin, kept)
    kept |= choosing.helpers_of(there, kept)
    _require_moderation(origin, kept)
    files = {name: kept[name].read() for name in sorted(kept)}
    from_notebooks = frozenset(name for name, entry in kept.items() if entry.is_written)
    not_read = {name: why for name, why in choosing.below(root, problems).items() if why}
    refused = [name for name in sorted(not_read) if "/" not in name or name in wanted]
    told = {f"{root}/{name}" if root else name for name in (*kept, *refused)}
    others = {name: entry for name, entry in {**found, **listing}.items() if name not in told}
    notes = (
        *opened,
        *([_few_of(all_notebooks, notebooks)] if len(notebooks) < len(all_notebooks) else []),
        *remarks.other_versions(listing, root, wanted),
        *remarks.not_taken(others, wanted - set(kept)),
        *(f"{name} was not read: it {not_read[name]}" for name in refused),
        *(f"{name} {entry.remark}" for name, entry in sorted(kept.items()) if entry.remark),
        *(f"{' and '.join(group)} are one name on some systems" for group in names.alike(files)),
    )
    more = len(notes) - _MAX_NOTES
    of_notebooks = remarks.of_notebooks(
        choosing.below(root, notebooks),
        files,
        from_notebooks,
        has_nothing=not wanted & set(files),
    )
    return of_files(
        origin,
        files,
        from_notebooks,
        (
            *of_notebooks,
            *notes[:_MAX_NOTES],
            *([f"and {more} more of the kind"] if more > 0 else []),
        ),
        tuple(sorted((name for name in listing if not _is_hidden(name)), key=_nearness))[
            :MAX_FOUND
        ],
    )


def _few_of(all_notebooks: Sequence[str], read: Collection[str]) -> str:
    return f"of {len(all_notebooks)} notebooks only {len(read)} were read, the nearest ones"


def _nearness(name: str) -> tuple[int, str]:
    return name.count("/"), name


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _problems_of(listing: Listing) -> dict[str, str]:
    return {name: _problem_of(entry) for name, entry in listing.items()}


def _problem_of(entry: Entry) -> str:
    if entry.problem or entry.num_bytes <= MAX_FILE_NUM_BYTES:
        return entry.problem
    return f"is larger than {MAX_FILE_NUM_BYTES >> 20} MiB"


def _require_something(
    origin: str,
    loose: Listing,
    notebooks: Mapping[str, notebook.Written],
    problems: Mapping[str, str],
) -> None:
    """Raise UsageError when no file can be graded at all."""
    if not problems:
        raise UsageError(f"{origin} is empty; put the files to hand in there")
    if not loose:
        name = min(problems)
        raise UsageError(
            f"{origin} holds no file that is read: {name} {problems[name]}; hand in the scripts "
            "themselves"
        )
    if (
        notebooks
        and len(notebooks) == len(loose)
        and not any(each.files for each in notebooks.values())
    ):
        name, found = next(iter(notebooks.items()))
        raise UsageError(
            f"{origin} holds only {name}, which {found.problems[0]}; hand in the scripts, or a "
            "notebook in which each of them is a cell that begins with %%writefile NAME"
        )


def _require_moderation(origin: str, kept: Listing) -> None:
    """Raise UsageError when there are too many files, or too much in them."""
    if len(kept) > MAX_FILES:
        raise UsageError(
            f"{origin} holds {len(kept)} files to read, at most {MAX_FILES} are; hand in only the "
            "files that the assignment asks for"
        )
    if sum(entry.num_bytes for entry in kept.values()) > MAX_TOTAL_NUM_BYTES:
        raise UsageError(
            f"the files of {origin} add up to more than {MAX_TOTAL_NUM_BYTES >> 20} MiB; leave "
            "data files out"
        )
