"""The folders that each rank finds where it works."""

from collections.abc import Collection, Iterable

from grader.model.paths import folders_above, nearness

_MAX_FOLDERS = 200


def work_folders(files: Iterable[str], folders: Collection[str]) -> list[str]:
    """Return the folders that each rank has where it works, at most _MAX_FOLDERS.

    files: its scripts. folders: those without scripts. What lies below the folder of a script is
    there by its path from that one as well: a program may have been started in either.
    """
    starts = {above for file in files for above in folders_above(file)}
    paths = {*folders, *starts}
    paths |= {
        path[len(start) + 1 :]
        for start in starts
        for path in folders
        if path.startswith(f"{start}/")
    }
    return sorted(paths, key=nearness)[:_MAX_FOLDERS]
