"""Archives in what was handed in: opened where no script lies beside them, as platforms deliver."""

import io
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path, PurePosixPath

from grader.choosing import below, beside, root_of
from grader.errors import UsageError
from grader.listing.entries import Listing
from grader.listing.tars import is_tar, of_tar
from grader.listing.zips import of_zip

_OPENED = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_NOT_OPENED = (".rar", ".7z")
_SCRIPTS = (".py", ".ipynb")
_MAX_OPENED = 10


def opened(
    origin: str, found: Listing, problems: Mapping[str, str], wanted: Set[str]
) -> tuple[Listing, tuple[str, ...]]:
    """Return the files with those of the archives among them, and what to say of that.

    problems: why files are not read, by their names; empty of those that are.
    Where a script was handed in, an archive beside it is one more file, and is not opened; nor is
    an archive within one that is. Raises UsageError for archives of which none knows which counts,
    and for those that cannot be opened.
    """
    names = [name for name in found if not PurePosixPath(name).name.startswith(".")]
    if any(name.lower().endswith(_SCRIPTS) or name in _scripts_of(wanted) for name in names):
        return found, ()
    for name in names:
        if name.lower().endswith(_NOT_OPENED):
            raise UsageError(
                f"{origin} holds no script, and {name}, which cannot be opened; make a zip of it, "
                "or hand in the scripts themselves"
            )
    archives = [name for name in names if name.lower().endswith(_OPENED)]
    if len(archives) > _MAX_OPENED:
        raise UsageError(
            f"{origin} holds {len(archives)} archives and no script; hand in the scripts themselves"
        )
    for name in sorted(archives):
        if problems[name]:
            raise UsageError(
                f"{origin} holds no script that is read: {name} {problems[name]}; hand in the "
                "scripts themselves"
            )
    contents = {
        name: _content(origin, name, found[name].read(), wanted) for name in sorted(archives)
    }
    _require_one_of_each(origin, contents, wanted)
    inside = {name: entry for content in contents.values() for name, entry in content.items()}
    left = {name: entry for name, entry in found.items() if name not in contents}
    notes = tuple(f"{name} was opened: no script lies beside it" for name in contents)
    return {**inside, **left}, notes


def _scripts_of(wanted: Set[str]) -> Set[str]:
    """Return the wanted files that are no documents: assignments may ask for any."""
    return {name for name in wanted if not name.lower().endswith(".pdf")}


def _content(origin: str, name: str, packed: bytes, wanted: Set[str]) -> Listing:
    """Return the files of the folder that counts in an archive, as if they lay beside it."""
    path, file = Path(origin) / name, io.BytesIO(packed)
    files = of_tar(file, path, wanted) if is_tar(file) else of_zip(file, path)
    there = below(root_of(files, wanted), files)
    return {beside(name, each): entry for each, entry in there.items()}


def _require_one_of_each(origin: str, contents: Mapping[str, Listing], wanted: Set[str]) -> None:
    """Raise UsageError where two archives hold a script, or what else is wanted, of one name."""
    times = Counter(name for content in contents.values() for name in content)
    twice = [
        name
        for name in sorted(times)
        if times[name] > 1 and (name.endswith(_SCRIPTS) or name in wanted)
    ]
    if twice:
        holders = [name for name, content in contents.items() if twice[0] in content]
        raise UsageError(
            f"{origin}: {' and '.join(holders[:2])} both hold {twice[0]}; leave the one that counts"
        )
