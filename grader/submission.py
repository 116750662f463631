"""What a student handed in: found in a folder or a zip, read once, never executed here."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from grader import listing as listings
from grader import notebook
from grader.errors import UsageError
from grader.listing import Entry, Listing

_MAX_NUM_BYTES = 32 << 20
"""Of one file."""
_MAX_TOTAL_NUM_BYTES = 128 << 20
_MAX_NOTEBOOKS = 20

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

    def loose_files(self) -> dict[str, bytes]:
        """Return the files as they were handed in: notebooks, but not what their cells write."""
        return {
            name: content for name, content in self.files.items() if name not in self.from_notebooks
        }


def read(path: Path, wanted: Iterable[str]) -> Submission:
    """Read a submission folder or zip; its files may lie in the root or one folder down.

    wanted: the relative paths that assignments ask for, which tell the folder that counts.
    Raises UsageError when there is nothing to grade.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist; name the folder with the submission's files")
    if not path.is_dir() and not path.is_file():
        raise UsageError(f"{path} is neither a folder nor a zip, one of which is expected")
    try:
        found = listings.of_zip(path) if path.is_file() else listings.of_folder(path)
        return _submission(str(path), found, set(wanted))
    except PermissionError as error:
        raise UsageError(f"{error.filename} cannot be read; check its permissions") from None


def from_files(
    origin: str, found: Iterable[tuple[str, bytes]], wanted: Iterable[str]
) -> Submission:
    """Return the submission that lies in these files, given as (relative path, content).

    Raises UsageError when there are none.
    """
    entries = {name: listings.in_memory(content) for name, content in found}
    return _submission(origin, entries, set(wanted))


def _submission(origin: str, found: Listing, wanted: set[str]) -> Submission:
    if not found:
        raise UsageError(f"{origin} is empty; put the files to hand in there")
    loose = {name: entry for name, entry in found.items() if entry.num_bytes <= _MAX_NUM_BYTES}
    notebooks = _read_notebooks(loose)
    _require_something(origin, loose, notebooks)
    listing = {**_written(notebooks, wanted), **loose}
    root = _root(listing, wanted)
    kept = _kept(_below(root, listing), wanted)
    if sum(entry.num_bytes for entry in kept.values()) > _MAX_TOTAL_NUM_BYTES:
        raise UsageError(
            f"the files of {origin} add up to more than {_MAX_TOTAL_NUM_BYTES >> 20} MiB; leave "
            "data files out"
        )
    files = {name: kept[name].read() for name in sorted(kept)}
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    from_notebooks = frozenset(name for name, entry in kept.items() if entry.is_written)
    too_large = set(_below(root, found)) - set(_below(root, loose))
    return Submission(
        origin,
        files,
        digest.hexdigest(),
        from_notebooks,
        (
            *_notes(_below(root, notebooks), files, from_notebooks, not wanted & set(files)),
            *(
                f"{name} was not read: it is larger than {_MAX_NUM_BYTES >> 20} MiB"
                for name in sorted(too_large)
                if "/" not in name or name in wanted
            ),
        ),
    )


def _require_something(
    origin: str, loose: Listing, notebooks: Mapping[str, notebook.Written]
) -> None:
    """Raise UsageError when no file can be graded at all."""
    if not loose:
        raise UsageError(
            f"{origin} holds no file of at most {_MAX_NUM_BYTES >> 20} MiB; larger ones are not "
            "read: hand in the scripts themselves"
        )
    if len(notebooks) == len(loose) and not any(each.files for each in notebooks.values()):
        name, found = next(iter(notebooks.items()))
        raise UsageError(
            f"{origin} holds only {name}, which {found.problems[0]}; hand in the scripts, or a "
            "notebook in which each of them is a cell that begins with %%writefile NAME"
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
        if parents & set(listing):
            return False  # a zip can hold a name as a file and as a folder
        is_script = name in wanted or name.endswith((".py", ".ipynb"))
        return "/" not in name or (is_script and bool(parents & places))

    return {name: entry for name, entry in listing.items() if is_kept(name)}


def _below(folder: str, files: Mapping[str, Value]) -> dict[str, Value]:
    """Return the files of a folder by their paths in it; all of them for ""."""
    if not folder:
        return dict(files)
    start = f"{folder}/"
    return {name[len(start) :]: value for name, value in files.items() if name.startswith(start)}


def _read_notebooks(loose: Listing) -> dict[str, notebook.Written]:
    names = [name for name in sorted(loose) if name.endswith(".ipynb")][:_MAX_NOTEBOOKS]
    return {name: notebook.read(loose[name].read()) for name in names}


def _written(notebooks: Mapping[str, notebook.Written], wanted: set[str]) -> dict[str, Entry]:
    """Return what notebooks write: of several, the one that writes most wanted files wins."""

    def merit(name: str) -> int:
        return len(wanted & set(notebooks[name].files))

    return {
        _beside(name, file): replace(listings.in_memory(content), is_written=True)
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
        if found.files or has_nothing or not found.is_notebook:
            yield from (f"{name} {problem}" for problem in found.problems[:3])


def _beside(name: str, file: str) -> str:
    """Return the path of a file that lies in the same folder as `name`."""
    return (PurePosixPath(name).parent / file).as_posix()
