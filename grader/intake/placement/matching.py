"""Says by which rule a file that was handed in counts for one that is asked for."""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from pathlib import PurePosixPath

_MAX_ADDED = 4
"""So many words behind a name are left out, not more."""
_ADDED = re.compile(r"\(\d{1,3}\)|\(?copy\)?|kopie|final|late|v|v?\d{1,2}")
"""By browsers (`ring (1)`), systems (`ring copy 2`), platforms (`ring-1`) and people (`_final`)."""
_ADDED_WHOLE = re.compile(r"^(?:copy of|kopie von) |_assignsubmission_file")
_OF_ANOTHER_FILE = re.compile(r"(?:tests?|old|bak|backup|draft|example|template)\d*")
"""What stands before the name of another file, as in `test_1_ring`."""
_BETWEEN_WORDS = re.compile(r"[\s._-]+|(?=\()")
_NO_LETTER = re.compile(r"[\W_]")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d{1,9}")
_PACKED = re.compile(r"\.(?:zip|tar(?:\.\w+)?|tgz|ipynb)$")
"""How what lies in an archive or a notebook has its folder called."""


class Rule(IntEnum):
    """How a file counts for another name, the best first."""

    OWN_NAME = 0
    OTHER_NAME = 1
    SAME_LETTERS = 2
    WITH_ADDITIONS = 3


def counts_for(path: str, names: Mapping[str, tuple[str, ...]]) -> dict[str, Rule]:
    """Return the files for which a path counts by its best rule."""
    rules = {file: rule_of(path, each) for file, each in names.items()}
    found = {file: rule for file, rule in rules.items() if rule is not None}
    # Who has the very name of one file was not meant to be another one.
    best = max(min(found.values(), default=Rule.OTHER_NAME), Rule.OTHER_NAME)
    return {file: rule for file, rule in found.items() if rule <= best}


def rule_of(path: str, asked: tuple[str, ...]) -> Rule | None:
    """Return the rule by which a path counts for a file; None when it does not.

    asked: the path that the assignment asks for, then the other accepted ones. Folders above do not
    matter. What lies in a folder of the assignment, as part1/main.py, must lie in one of that name,
    or be called part1_main.py or part1.py.
    """
    for number, name in enumerate(asked):
        if path == name or path.endswith(f"/{name}"):
            return Rule.OTHER_NAME if number else Rule.OWN_NAME
    alike = [rule for name in asked if (rule := _alike(path, name)) is not None]
    return min(alike, default=None)


def num_folders_above(path: str, asked: tuple[str, ...]) -> int:
    """Return how many folders a file lies below its place in the assignment's own layout."""
    return max(0, path.count("/") - asked[0].count("/"))


def is_of_old_version(path: str) -> bool:
    """Return whether a file, or a folder above it, is called a test, a backup or an older one."""
    words = _BETWEEN_WORDS.split(_PACKED.sub("", path.lower()).replace("/", " "))
    return any(map(_OF_ANOTHER_FILE.fullmatch, words))


def numbers_in(path: str) -> tuple[int, ...]:
    """Return the numbers of a path in their order: of `ring (2)` or `attempt2/ring`."""
    return tuple(map(int, _NUMBER.findall(path)))


def _alike(path: str, name: str) -> Rule | None:
    """Return the rule for names that differ in case, separators, and what is added on the way."""
    suffix, folders, stem = _asked(name)
    if not path.lower().endswith(suffix):
        return None
    folders_there, words, letters = _handed_in(path)
    whole = "".join([*folders, stem])  # also part1_main.py
    is_in_place = folders_there[len(folders_there) - len(folders) :] == folders
    wanted = [whole, stem] if is_in_place and folders else [whole]
    if folders and stem == "main":
        wanted.append("".join(folders))  # also part1.py
    rules = [_rule_of_words(words, letters, each) for each in wanted if each in "".join(letters)]
    return min((rule for rule in rules if rule is not None), default=None)


@lru_cache(maxsize=1024)
def _asked(name: str) -> tuple[str, tuple[str, ...], str]:
    """Return the suffix of a name, and the letters of its folders and of itself."""
    path = PurePosixPath(name)
    return path.suffix.lower(), tuple(map(_letters, path.parts[:-1])), _letters(path.stem)


@lru_cache(maxsize=1)  # a path is compared with many names, one after the other
def _handed_in(path: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the letters of the folders of a path, the words of its name, and their letters."""
    *folders, name = path.split("/")
    stem = _ADDED_WHOLE.sub("", PurePosixPath(name).stem.lower())
    words = tuple(word for word in _BETWEEN_WORDS.split(stem) if _letters(word))
    letters = (_letters(_PACKED.sub("", folder.lower())) for folder in folders)
    return tuple(letters), words, tuple(map(_letters, words))


def _rule_of_words(words: Sequence[str], letters: Sequence[str], wanted: str) -> Rule | None:
    """Return the rule for the words of a name, given the letters of the name that is asked for."""
    if "".join(letters) == wanted:
        return Rule.SAME_LETTERS
    for end in range(len(words), max(0, len(words) - _MAX_ADDED - 1), -1):
        if _is_end(words[:end], letters[:end], wanted):
            return Rule.WITH_ADDITIONS
        if not _ADDED.fullmatch(words[end - 1]):
            return None
    return None


def _is_end(words: Sequence[str], letters: Sequence[str], wanted: str) -> bool:
    """Return whether a name ends in what is asked for.

    What stands before it has a digit at its end: `lee_late_123_456_ring`, `student2_ring`.
    """
    end = ""
    for number in range(len(words) - 1, -1, -1):
        end = letters[number] + end
        if len(end) > len(wanted):
            return False
        if end == wanted:
            before = words[:number]
            is_of_another = any(map(_OF_ANOTHER_FILE.fullmatch, before))
            return not before or bool(_DIGIT.search(before[-1]) and not is_of_another)
    return False


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", text.casefold())
