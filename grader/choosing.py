"""Chooses which of the files that were found are the submission: a folder, and what lies in it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

from grader import notebook
from grader.listing import entries
from grader.listing.entries import Entry, Listing

_MAX_HELPERS = 500
_MAX_LOOKED_AT_NUM_BYTES = 1 << 20
_SPEAKS_OF_FILES = re.compile(rb"^.*(?:import|path).*$", re.MULTILINE | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")

Value = TypeVar("Value")


def root_of(listing: Listing, wanted: Collection[str]) -> str:
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


def kept_of(listing: Listing, wanted: Collection[str]) -> dict[str, Entry]:
    """Return the files in the folder itself, and the scripts that lie with a wanted one below."""
    places = {name.rpartition("/")[0] for name in set(wanted) & set(listing)} - {""}

    def is_kept(name: str) -> bool:
        is_script = name in wanted or name.endswith(".py") or is_notebook(name)
        return "/" not in name or (is_script and bool(_folders_above(name) & places))

    return {
        name: entry
        for name, entry in listing.items()
        if is_kept(name) and not _folders_above(name) & listing.keys()
    }


def helpers_of(listing: Listing, kept: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the scripts in other folders that those kept may import, the nearest if many.

    A script, or a folder of scripts, that a line about imports or paths names: which of them is
    executed is nothing to find out here. Scripts of the same name as one kept are other versions.
    """
    known = {PurePosixPath(name).stem for name in kept if "/" not in name}
    left = {
        name: entry
        for name, entry in sorted(listing.items(), key=lambda item: (item[0].count("/"), item[0]))
        if name.endswith(".py") and name not in kept and not _folders_above(name) & listing.keys()
    }
    found: dict[str, Entry] = {}
    new: Mapping[str, Entry] = kept
    while new and len(found) < _MAX_HELPERS:
        words = set().union(*(_words_about_files(entry) for entry in _scripts(new)))
        named = {name for name in left if _is_named(PurePosixPath(name), words, known)}
        room = _MAX_HELPERS - len(found)
        new = {name: left.pop(name) for name in [each for each in left if each in named][:room]}
        found |= new
    return found


def _scripts(files: Mapping[str, Entry]) -> list[Entry]:
    return [entry for name, entry in files.items() if name.endswith(".py")]


def _words_about_files(script: Entry) -> set[str]:
    source = script.read()[:_MAX_LOOKED_AT_NUM_BYTES]
    lines = b"\n".join(_SPEAKS_OF_FILES.findall(source))
    return set(_WORD.findall(lines.decode(errors="replace")))


def _is_named(path: PurePosixPath, words: Collection[str], known: Collection[str]) -> bool:
    if path.stem in known:
        return False
    return path.stem in words or any(part in words for part in path.parts[:-1])


def _folders_above(name: str) -> set[str]:
    """Return the paths above a file: a zip can hold one of them as a file as well."""
    return {str(parent) for parent in PurePosixPath(name).parents}


def below(folder: str, files: Mapping[str, Value]) -> dict[str, Value]:
    """Return the files of a folder by their paths in it; all of them for ""."""
    if not folder:
        return dict(files)
    start = f"{folder}/"
    return {name[len(start) :]: value for name, value in files.items() if name.startswith(start)}


def is_notebook(name: str) -> bool:
    """Return whether a file is to be read as a notebook."""
    return name.lower().endswith(".ipynb")


def written_by(
    notebooks: Mapping[str, notebook.Written], wanted: Collection[str]
) -> dict[str, Entry]:
    """Return what notebooks write: of several, the one that writes most wanted files wins."""

    def merit(name: str) -> int:
        return len(set(wanted) & set(notebooks[name].files))

    return {
        beside(name, file): replace(entries.in_memory(content), is_written=True)
        for name in sorted(notebooks, key=merit)
        for file, content in notebooks[name].files.items()
    }


def beside(name: str, file: str) -> str:
    """Return the path of a file that lies in the same folder as `name`."""
    return (PurePosixPath(name).parent / file).as_posix()
