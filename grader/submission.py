"""What a student handed in: found in a folder or an archive, read once, never executed here.

What is read here may be of hostile make: grader.intake does it in a process of its own.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from grader import notebook
from grader.errors import UsageError
from grader.listing import entries, names
from grader.listing.entries import MAX_DEPTH, MAX_FILE_NUM_BYTES, Entry, Listing
from grader.listing.folder import of_folder
from grader.listing.tars import is_tar, of_tar
from grader.listing.zips import of_zip

MAX_FILES = 2000
MAX_TOTAL_NUM_BYTES = 128 << 20
_MAX_ARCHIVE_NUM_BYTES = 1 << 30
_MAX_NOTEBOOKS = 20
_MAX_NOTES = 20

Value = TypeVar("Value")


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
) -> Submission:
    """Return the submission of exactly these files, with its digest."""
    ordered = {name: files[name] for name in sorted(files)}
    digest = hashlib.sha256()
    for name, content in ordered.items():
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return Submission(origin, ordered, digest.hexdigest(), from_notebooks, notes)


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


def _submission(origin: str, found: Listing, wanted: set[str]) -> Submission:
    problems = {name: _problem_of(entry) for name, entry in found.items()}
    loose = {name: entry for name, entry in found.items() if not problems[name]}
    # The nearest first, so that no heap of others further down keeps the right one from being read.
    all_notebooks = sorted(filter(_is_notebook, loose), key=lambda name: (name.count("/"), name))
    notebooks = {name: notebook.read(loose[name].read()) for name in all_notebooks[:_MAX_NOTEBOOKS]}
    _require_something(origin, loose, notebooks, problems)
    listing = {**_written(notebooks, wanted), **loose}
    root = _root(listing, wanted)
    kept = _kept(_below(root, listing), wanted)
    _require_moderation(origin, kept)
    files = {name: kept[name].read() for name in sorted(kept)}
    from_notebooks = frozenset(name for name, entry in kept.items() if entry.is_written)
    not_read = {name: problem for name, problem in _below(root, problems).items() if problem}
    read = {f"{root}/{name}" if root else name for name in kept}
    others = {name: entry for name, entry in {**found, **listing}.items() if name not in read}
    remarks = (
        *(
            [f"of {len(all_notebooks)} notebooks only {len(notebooks)} were read, the nearest ones"]
            if len(notebooks) < len(all_notebooks)
            else []
        ),
        *_too_far_down(others, wanted - set(kept)),
        *(
            f"{name} was not read: it {not_read[name]}"
            for name in sorted(not_read)
            if "/" not in name or name in wanted
        ),
        *(f"{name} {entry.remark}" for name, entry in sorted(kept.items()) if entry.remark),
        *(f"{' and '.join(group)} are one name on some systems" for group in names.alike(files)),
    )
    more = len(remarks) - _MAX_NOTES
    return of_files(
        origin,
        files,
        from_notebooks,
        (
            *_notes(_below(root, notebooks), files, from_notebooks, not wanted & set(files)),
            *remarks[:_MAX_NOTES],
            *([f"and {more} more of the kind"] if more > 0 else []),
        ),
    )


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


def _root(listing: Listing, wanted: set[str]) -> str:
    """Return the folder that counts: "", or the one in it that holds more of the wanted files.

    Of two that hold equally many, scripts are better than cells of a notebook.
    """
    folders = sorted({name.partition("/")[0] for name in listing if "/" in name})

    def merit(folder: str) -> tuple[int, int]:
        paths = {f"{folder}/{name}" if folder else name for name in wanted}
        found = [listing[path] for path in paths if path in listing]
        return len(found), sum(not entry.is_written for entry in found)

    is_flat = any("/" not in name for name in listing)
    return max(["", *folders] if is_flat else [*folders, ""], key=merit)


def _kept(listing: Listing, wanted: set[str]) -> Listing:
    """Return the files in the folder itself, and the scripts that lie with a wanted one below."""
    places = {name.rpartition("/")[0] for name in wanted & set(listing)} - {""}

    def is_kept(name: str) -> bool:
        parents = {str(parent) for parent in PurePosixPath(name).parents}
        if any(parent in listing for parent in parents):
            return False  # a zip can hold a name as a file and as a folder
        is_script = name in wanted or name.endswith(".py") or _is_notebook(name)
        return "/" not in name or (is_script and bool(parents & places))

    return {name: entry for name, entry in listing.items() if is_kept(name)}


def _below(folder: str, files: Mapping[str, Value]) -> dict[str, Value]:
    """Return the files of a folder by their paths in it; all of them for ""."""
    if not folder:
        return dict(files)
    start = f"{folder}/"
    return {name[len(start) :]: value for name, value in files.items() if name.startswith(start)}


def _too_far_down(others: Listing, missing: set[str]) -> Iterator[str]:
    """Yield of each missing file where it lies too far down, the nearest place if there are many.

    others: what was not taken.
    """
    nearest: dict[str, str] = {}
    for path in sorted(others, key=lambda path: (path.count("/"), path)):
        parts = path.split("/")
        for num_folders in range(max(2, len(parts) - MAX_DEPTH), len(parts)):
            name = "/".join(parts[num_folders:])
            if name in missing:
                nearest.setdefault(name, path)
    for name, path in sorted(nearest.items()):
        written = ", which a notebook writes," if others[path].is_written else ""
        yield (
            f"{path}{written} was not read: it lies {path.count('/')} folders down; expected is "
            f"{name} in the root or one folder down"
        )


def _is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb")


def _written(notebooks: Mapping[str, notebook.Written], wanted: set[str]) -> dict[str, Entry]:
    """Return what notebooks write: of several, the one that writes most wanted files wins."""

    def merit(name: str) -> int:
        return len(wanted & set(notebooks[name].files))

    return {
        _beside(name, file): replace(entries.in_memory(content), is_written=True)
        for name in sorted(notebooks, key=merit)
        for file, content in notebooks[name].files.items()
    }


def _notes(
    notebooks: Mapping[str, notebook.Written],
    files: Mapping[str, bytes],
    from_notebooks: frozenset[str],
    has_nothing: bool,
) -> Iterator[str]:
    """Yield what there is to say of notebooks: what was taken, what was not, and why."""
    for name, found in notebooks.items():
        paths = {_beside(name, file): content for file, content in found.files.items()}
        same = {path for path, content in paths.items() if files.get(path) == content}
        taken = sorted(same & from_notebooks)
        others = sorted(set(paths) & set(files) - same)
        if taken:
            yield f"read from the cells of {name}: {', '.join(taken)}"
        if others:
            yield f"not read from the cells of {name}, as handed in elsewhere: {', '.join(others)}"
        if has_nothing or (name in files and (found.files or not found.is_notebook)):
            yield from (f"{name} {problem}" for problem in found.problems[:3])


def _beside(name: str, file: str) -> str:
    """Return the path of a file that lies in the same folder as `name`."""
    return (PurePosixPath(name).parent / file).as_posix()
