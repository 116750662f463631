"""What to say of files that were found: from where they were read, and why others were not."""

from collections.abc import Collection, Iterator, Mapping

from grader import notebook
from grader.choosing import below, beside
from grader.listing.entries import MAX_DEPTH, Listing

_MAX_FOLDERS = 3
_MAX_NAMED = 3


def not_taken(others: Listing, missing: Collection[str]) -> Iterator[str]:
    """Yield of each missing file why the nearest one of its name was not taken.

    others: what was not taken: it cannot be, or lies too far down.
    """
    nearest: dict[str, str] = {}
    for path in sorted(others, key=lambda path: (path.count("/"), path)):
        parts = path.split("/")
        first = 1 if others[path].problem else 2
        for num_folders in range(max(first, len(parts) - MAX_DEPTH), len(parts)):
            name = "/".join(parts[num_folders:])
            if name in missing:
                nearest.setdefault(name, path)
    for name, path in sorted(nearest.items()):
        if problem := others[path].problem:
            yield f"{path} was not read: it {problem}"
            continue
        written = ", which a notebook writes," if others[path].is_written else ""
        yield (
            f"{path}{written} was not read: it lies {path.count('/')} folders down; expected is "
            f"{name} in the root or one folder down"
        )


def other_versions(listing: Listing, root: str, wanted: Collection[str]) -> Iterator[str]:
    """Yield of each other folder with the same wanted files that it is not the one graded."""
    mine = set(wanted) & set(below(root, listing))
    folders = {name.partition("/")[0] for name in listing if "/" in name} - {root}
    twins = {}
    for folder in sorted({"", *folders} - {root}):
        there = below(folder, listing)
        same = sorted(name for name in mine & there.keys() if not there[name].is_written)
        if same:
            twins[folder] = same
    for folder, same in list(twins.items())[:_MAX_FOLDERS]:
        more = f" and {len(same) - _MAX_NAMED} more" if len(same) > _MAX_NAMED else ""
        yield (
            f"{_named(root)} was graded and {_named(folder)} was not: both hold "
            f"{', '.join(same[:_MAX_NAMED])}{more}; hand in one of them"
        )
    if len(twins) > _MAX_FOLDERS:
        yield f"{len(twins) - _MAX_FOLDERS} further folders hold such files, and were not graded"


def _named(folder: str) -> str:
    return f"the folder {folder}" if folder else "the outermost folder"


def of_notebooks(
    notebooks: Mapping[str, notebook.Written],
    files: Mapping[str, bytes],
    from_notebooks: Collection[str],
    *,
    has_nothing: bool,
) -> Iterator[str]:
    """Yield what there is to say of notebooks: what was taken, what was not, and why.

    has_nothing: none of the files that are asked for was found.
    """
    for name, found in notebooks.items():
        paths = {beside(name, file): content for file, content in found.files.items()}
        same = {path for path, content in paths.items() if files.get(path) == content}
        taken = sorted(same & set(from_notebooks))
        others = sorted(set(paths) & set(files) - same)
        if taken:
            yield f"read from the cells of {name}: {', '.join(taken)}"
        if others:
            yield f"not read from the cells of {name}, as handed in elsewhere: {', '.join(others)}"
        if has_nothing or (name in files and (found.files or not found.is_notebook)):
            yield from (f"{name} {problem}" for problem in found.problems[:3])
