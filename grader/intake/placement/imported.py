"""Finds the scripts that a submission's own scripts may import: beside them, and in other folders.

A script, or a folder of scripts, counts that a line about imports or paths names. Which of these
lines is executed is not decided here.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from grader.model.paths import folders_above, nearness

_MAX_IMPORTED = 500
_MAX_IMPORTED_NUM_BYTES = 128 << 20
_MAX_LOOKED_AT_NUM_BYTES = 1 << 20
"""Of one script."""
_MAX_ALL_LOOKED_AT_NUM_BYTES = 16 << 20
_SPEAKS_OF_FILES = re.compile(rb"^.*(?:import|path).*$", re.MULTILINE | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]\w*")

Paths = dict[str, str]
"""Where scripts lie in the submission, by the paths under which they are run."""


class Scripts:
    """The scripts of a submission, and what each of them names."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = {
            path: content for path, content in files.items() if path.lower().endswith(".py")
        }
        self._names = {word for path in self._files for word in _words_of_path(PurePosixPath(path))}
        self._words: dict[str, set[str]] = {}
        self._num_bytes_left = _MAX_ALL_LOOKED_AT_NUM_BYTES

    def beside(self, root: str, own: Collection[str]) -> Paths:
        """Return the scripts of a folder that may belong to a part.

        own: where the part's files lie, whose folders count whole.
        """
        there = self._below(root)
        own_folders = {path.rpartition("/")[0] for path in own} - {root, ""}
        kept = {
            name: path
            for name, path in there.items()
            if "/" not in name or any(path.startswith(f"{each}/") for each in own_folders)
        }
        return kept | self._named(there, kept, self._words_in(kept.values()), {})

    def from_elsewhere(self, found: Mapping[str, str], roots: Iterable[str]) -> Paths:
        """Return what the scripts found name, and what lies in or beside one of these folders."""
        words = self._words_in(found.values())
        more: Paths = {}
        for root in dict.fromkeys(
            near for each in roots for near in (each, *reversed(folders_above(each)), "")
        ):
            more |= self._named(self._below(root), {**found, **more}, words, more)
        return more

    def _named(
        self, there: Paths, kept: Mapping[str, str], words: set[str], before: Mapping[str, str]
    ) -> Paths:
        """Return the scripts that those kept name, and what these name: the nearest if many.

        A script with the name of one kept beside the root is another version of it.
        words: those of the scripts kept; those of the scripts found are added.
        before: other scripts that count among the most that are taken.
        """
        known = {PurePosixPath(name).stem for name in kept if "/" not in name}
        by_word = defaultdict(list)
        for name in there:
            path = PurePosixPath(name)
            if name not in kept and path.stem not in known:
                for word in _words_of_path(path):
                    by_word[word].append(name)
        room = _MAX_IMPORTED - len(before)
        num_bytes = sum(len(self._files[path]) for path in before.values())
        found: Paths = {}
        new_words = set(words)
        while new_words:
            named = {name for word in new_words & by_word.keys() for name in by_word[word]}
            new = []
            for name in sorted(named - found.keys(), key=nearness):
                num_bytes += len(self._files[there[name]])
                if len(found) == room or num_bytes > _MAX_IMPORTED_NUM_BYTES:
                    return found
                found[name] = there[name]
                new.append(there[name])
            new_words = self._words_in(new) - words
            words |= new_words
        return found

    def is_named(self, path: str, others: Iterable[str]) -> bool:
        """Return whether other scripts name this one, or a folder that it lies in."""
        words = _words_of_path(PurePosixPath(path))
        return "__init__" in words or not self._words_in(others).isdisjoint(words)

    def _words_in(self, paths: Iterable[str]) -> set[str]:
        return set().union(*map(self._words_of, paths))

    def _words_of(self, path: str) -> set[str]:
        """Return the names of scripts and folders that a script names."""
        if path not in self._words:
            most = min(_MAX_LOOKED_AT_NUM_BYTES, self._num_bytes_left)
            source = self._files.get(path, b"")[:most]
            self._num_bytes_left -= len(source)
            lines = b"\n".join(_SPEAKS_OF_FILES.findall(source)).decode(errors="replace")
            self._words[path] = self._names.intersection(_WORD.findall(lines))
        return self._words[path]

    def _below(self, root: str) -> Paths:
        """Return the scripts of a folder by their paths in it."""
        start = f"{root}/" if root else ""
        return {path.removeprefix(start): path for path in self._files if path.startswith(start)}


def _words_of_path(path: PurePosixPath) -> set[str]:
    return {path.stem, *path.parts[:-1]}
