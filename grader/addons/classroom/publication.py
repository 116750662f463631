"""Which grading of each hand-in is the one that its student knows."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from grader.addons.classroom.gradings import write_atomically
from grader.model.errors import GraderError

NAME = "published.json"


def read(file: Path) -> dict[str, str]:
    """Return the key of the published grading by the digest of the hand-in; none without the file.

    Raises GraderError for a file that is not as it was written.
    """
    try:
        data = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise GraderError(f"{file} cannot be read ({error}); restore it, or remove it") from None
    if not isinstance(data, dict) or not all(isinstance(each, str) for each in data.values()):
        raise GraderError(f"{file} was changed since it was written; restore it, or remove it")
    return data


def write(file: Path, published: Mapping[str, str]) -> None:
    """Write it, in one step. Raises OSError."""
    write_atomically(file, dict(published))


def falling_back(
    keys: Mapping[str, str], published: Mapping[str, str], problems: Collection[str]
) -> dict[str, str]:
    """Return the keys, where one has a problem that of the mark that is published.

    keys, published: by digest. A regrade that fails takes nobody's mark away.
    """
    return {
        digest: published.get(digest, key) if key in problems else key
        for digest, key in keys.items()
    }
