"""What somebody meant who wrote something else: a name that exists, a file that is asked for."""

import difflib
import re
from collections.abc import Collection, Iterable, Sequence

_SIMILAR = 0.75
_MANY = 200
_NO_LETTER = re.compile(r"[^\w/.]|_")


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return `. Did you mean ring_allreduce?` for an unknown name; empty when none is like it."""
    by_letters = {_letters(each): each for each in sorted(known, reverse=True)}
    letters = _letters(name)
    begun = sorted(each for each in by_letters if letters and each.startswith(letters))
    found = begun or difflib.get_close_matches(letters, by_letters, n=1, cutoff=0.6)
    return f". Did you mean {by_letters[found[0]]}?" if found else ""


def meant_files(missing: Iterable[str], found: Sequence[str]) -> dict[str, str]:
    """Return of each missing file the one that was probably meant to be it, where there is one."""
    pairs = sorted(
        (
            (-likeness(name, path), name, path)
            for name in missing
            for path in found[:_MANY]
            if likeness(name, path) >= _SIMILAR
        ),
        key=lambda pair: pair[0],
    )
    meant: dict[str, str] = {}
    for _, name, path in pairs:
        if name not in meant and path not in meant.values():
            meant[name] = path
    return meant


def likeness(name: str, path: str) -> float:
    """Return from 0 to 1 how much a path ends like a name."""
    num_parts = name.count("/") + 1
    parts = path.split("/")
    if len(parts) < num_parts or not path.lower().endswith(name[name.rfind(".") :]):
        return 0
    wanted, there = _letters(name), _letters("/".join(parts[-num_parts:]))
    # Downloaded twice, or called final: psgd (1).py, psgd_final.py.
    if there.startswith(wanted[: wanted.rfind(".")]):
        return max(_SIMILAR, len(wanted) / len(there))
    matcher = difflib.SequenceMatcher(None, wanted, there, autojunk=False)
    return 0 if matcher.real_quick_ratio() < _SIMILAR else matcher.ratio()


def _letters(name: str) -> str:
    return _NO_LETTER.sub("", name.casefold())
