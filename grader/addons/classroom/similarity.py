"""Finds hand-ins that are nearly the same, by the fingerprints of copydetect.

Code from the template does not count. Fingerprints are hashes of k tokens: S.
Schleimer, D. S. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting",
SIGMOD 2003; none is left out.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from grader.report.safe_text import visible_lines

NEARLY_THE_SAME = 0.8
"""The share of both files' tokens that a pair has in common."""
_NOISE_NUM_TOKENS = 25
"""Shorter passages are alike by chance."""
_EVERY = 1
"""Of the fingerprints of a file: which of several copydetect picks depends on PYTHONHASHSEED."""
_MAX_NUM_CHARS = 200_000
_MIN_NUM_TOKENS = 100
"""Of a file without the template's tokens: fewer prove nothing."""


@dataclass(frozen=True)
class Side:
    """One of two hand-ins that are compared."""

    student: str
    lines: tuple[str, ...] = ()
    """Of the file."""
    alike: frozenset[int] = frozenset()
    """Numbers, from 1, of the lines that the other one has too."""


@dataclass(frozen=True)
class Pair:
    """Two hand-ins with a nearly identical file."""

    sides: tuple[Side, Side]
    file: str
    share: float
    """The smaller of the two shares, from 0 to 1."""

    @property
    def students(self) -> tuple[str, str]:
        """Return the two students."""
        return self.sides[0].student, self.sides[1].student


def near_identical(
    sources: Mapping[str, Mapping[str, str]], template: Mapping[str, str]
) -> list[Pair]:
    """Return the pairs, the most alike first.

    A file in a folder of the student's own counts as that of the template whose name it has.
    """
    found = []
    sources = {student: _placed(files, template) for student, files in sources.items()}
    names = sorted({name for files in sources.values() for name in files})
    for name in names:
        prints = dict(_fingerprints(name, sources, template))
        for first, second in combinations(sorted(prints), 2):
            share, alike = _compared(prints[first], prints[second])
            if share >= NEARLY_THE_SAME:
                sides = [
                    _side(student, sources[student][name], places)
                    for student, places in zip((first, second), alike, strict=True)
                ]
                found.append(Pair((sides[0], sides[1]), name, share))
    return sorted(found, key=lambda pair: (-pair.share, pair.file, pair.students))


def _placed(files: Mapping[str, str], template: Mapping[str, str]) -> dict[str, str]:
    """Return the files by the name in the template with which theirs ends, if no other does."""
    placed: dict[str, list[str]] = {}
    for name in files:
        ends = [each for each in template if f"/{name}".endswith(f"/{each}")]
        placed.setdefault(max(ends, key=len, default=name), []).append(name)
    return {
        place if len(names) == 1 else name: files[name]
        for place, names in placed.items()
        for name in names
    }


def _side(student: str, text: str, places: Any) -> Side:
    """Return a side; places: where shared passages begin and end in the text."""
    alike: set[int] = set()
    for begin, end in zip(*places.astype(int).tolist(), strict=True):
        first = text.count("\n", 0, begin) + 1
        alike.update(range(first, first + text.count("\n", begin, end) + 1))
    return Side(student, tuple(visible_lines(text)), frozenset(alike))


def _fingerprints(
    name: str, sources: Mapping[str, Mapping[str, str]], template: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    import copydetect
    import numpy as np

    given: Any = np.array([])
    if name in template:
        whole = copydetect.CodeFingerprint(
            name, _NOISE_NUM_TOKENS, _EVERY, fp=io.StringIO(template[name])
        )
        given = np.unique(np.array(list(whole.hashes)))
    for label, files in sources.items():
        text = files.get(name, "")
        if not text or len(text) > _MAX_NUM_CHARS:
            continue
        made = copydetect.CodeFingerprint(
            name, _NOISE_NUM_TOKENS, _EVERY, given, fp=io.StringIO(text)
        )
        if made.token_coverage >= _MIN_NUM_TOKENS:
            yield label, made


def _compared(one: Any, other: Any) -> tuple[float, tuple[Any, Any]]:
    """Return which share of each is in the other, and where; 0 if that is far too little."""
    import copydetect

    common = len(one.hashes & other.hashes)
    # If the fingerprints alone show too little in common, the passages need not be compared.
    if 2 * common < NEARLY_THE_SAME * max(len(one.hashes), len(other.hashes)):
        return 0.0, ((), ())
    _, shares, places = copydetect.compare_files(one, other)
    return float(min(shares)), places
