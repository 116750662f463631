"""Hand-ins that are nearly the same, by the fingerprints of copydetect.

What the template gives to everybody does not count. Fingerprints by winnowing: S. Schleimer, D. S.
Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

NEARLY_THE_SAME = 0.8
"""The share of both files' tokens that a pair has in common."""
_NOISE_NUM_TOKENS = 25
"""Shorter passages are alike by chance; passages of the guarantee are found for certain."""
_GUARANTEE_NUM_TOKENS = 50
_MAX_NUM_CHARS = 200_000
_MIN_NUM_TOKENS = 100
"""Of a file beside the template: less than that says nothing."""


@dataclass(frozen=True)
class Pair:
    """Two hand-ins of which a file is nearly the same."""

    first: str
    second: str
    file: str
    share: float
    """The smaller of the two shares, from 0 to 1."""


def near_identical(
    sources: Mapping[str, Mapping[str, str]],
    template: Mapping[str, str],
) -> list[Pair]:
    """Return the pairs, the most alike first.

    sources: the files of each hand-in, by name. template: what everybody was given, likewise.
    """
    found = []
    names = sorted({name for files in sources.values() for name in files})
    for name in names:
        prints = dict(_fingerprints(name, sources, template))
        for first, second in combinations(sorted(prints), 2):
            share = _share(prints[first], prints[second])
            if share >= NEARLY_THE_SAME:
                found.append(Pair(first, second, name, share))
    return sorted(found, key=lambda pair: (-pair.share, pair.file, pair.first, pair.second))


def _fingerprints(
    name: str, sources: Mapping[str, Mapping[str, str]], template: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    import copydetect
    import numpy as np

    window = _GUARANTEE_NUM_TOKENS - _NOISE_NUM_TOKENS + 1
    given: Any = np.array([])
    if name in template:
        whole = copydetect.CodeFingerprint(
            name, _NOISE_NUM_TOKENS, 1, fp=io.StringIO(template[name])
        )
        given = np.unique(np.array(list(whole.hashes)))
    for label, files in sources.items():
        text = files.get(name, "")
        if not text or len(text) > _MAX_NUM_CHARS:
            continue
        made = copydetect.CodeFingerprint(
            name, _NOISE_NUM_TOKENS, window, given, fp=io.StringIO(text)
        )
        if made.token_coverage >= _MIN_NUM_TOKENS:
            yield label, made


def _share(one: Any, other: Any) -> float:
    """Return how much of both is in the other, as far as it is worth knowing."""
    import copydetect

    common = len(one.hashes & other.hashes)
    # Far below, by fingerprints alone: the passages themselves need not be looked at.
    if 2 * common < NEARLY_THE_SAME * max(len(one.hashes), len(other.hashes)):
        return 0.0
    _, shares, _ = copydetect.compare_files(one, other)
    return float(min(shares))
