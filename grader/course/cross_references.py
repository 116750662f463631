"""What must agree between the values of an `assignment.toml`, and with the files beside it."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.course.strict_toml import Table, found_text, item_paths, key_path
from grader.model.points import checked, total, written
from grader.model.report import BACKENDS
from grader.model.spelling import did_you_mean

FOR_STUDENTS = "students"
"""In the folder of an assignment: what students get in place of the files of these names."""


def disagreements(data: Table, name: str, folder: Path) -> Iterator[str]:
    """Yield `key path: sentence` for each.

    data: a value that is wrong by itself is None in it; nothing is said of that here. name: of the
    assignment, folder: where its suites are.
    """
    parts = _located(data, "parts")
    manual = _located(data, "manual")
    here = {path for path, _ in source_files(folder) if path.endswith(".py")}
    if (data.get("name") or name) != name:
        found = found_text(data["name"])
        yield f"name: found {found}; expected {found_text(name)}, the name of the folder"
    yield from _shared(parts | manual, "name")
    yield from _shared(parts, "suite")
    for path, table in (parts | manual).items():
        yield from _inexact_points(path, table)
    for path, table in manual.items():
        for index, line in enumerate(table.get("rubric") or ()):
            yield from _inexact_points(f"{path}.rubric[{index}]", line)
        yield from _other_sum(path, table)
    for path, part in parts.items():
        yield from _unknown_backend(path, part)
        yield from _missing_files(path, part, here, data.get("students") or ())
        yield from _wrong_part_below(path, part, list(parts.values()))
    yield from _files_of_two(data, parts)
    for index, file in enumerate(data.get("students") or ()):
        if not any((each / file).is_file() for each in (folder, folder / FOR_STUDENTS)):
            where = f"students[{index}]: found {found_text(file)}, which does not exist"
            yield f"{where}; expected a file in the assignment's folder"


def source_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder by their paths in it, but those that programs have made."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "." and name != "__pycache__"]
        inside = Path(where).relative_to(folder)
        for name in names:
            file = Path(where, name)
            if name[0] != "." and not name.endswith((".pyc", ".so")) and file.is_file():
                yield (inside / name).as_posix(), file


def _located(data: Table, key: str) -> dict[str, Table]:
    tables = data.get(key) or []
    return dict(zip(item_paths(key, tables), tables, strict=True))


def _shared(tables: Mapping[str, Table], key: str) -> Iterator[str]:
    first: dict[Any, str] = {}
    for path, table in tables.items():
        value = table.get(key)
        if value in first:
            yield (
                f"{path}.{key}: found {found_text(value)}, which {first[value]} already has; "
                f"expected another {key}"
            )
        elif value is not None:
            first[value] = path


def _inexact_points(path: str, table: Table) -> Iterator[str]:
    for key in ("points", "hidden_points"):
        if table.get(key) is not None:
            try:
                checked(table[key])
            except ValueError as error:
                yield f"{path}.{key}: {error}"


def _other_sum(path: str, table: Table) -> Iterator[str]:
    rubric = table.get("rubric") or []
    points = [line.get("points") for line in rubric]
    if not rubric or None in (*points, table.get("points")):
        return
    if total(points) != total([table["points"]]):
        yield (
            f"{path}.rubric: found {written(total(points))} points in all; expected "
            f"{written(table['points'])}, as in {path}.points"
        )


def _unknown_backend(path: str, part: Table) -> Iterator[str]:
    backend = part.get("backend")
    if backend is not None and backend not in BACKENDS:
        yield (
            f"{path}.backend: found {found_text(backend)}; expected one of "
            f"{', '.join(BACKENDS)}{did_you_mean(backend, BACKENDS)}"
        )


def _missing_files(
    path: str, part: Table, here: set[str], students: Collection[str]
) -> Iterator[str]:
    """Yield files that are not there, but for stand-ins that the students' edition leaves out."""
    named = {f"{path}.suite": part.get("suite")}
    stand_in = part.get("stand_in") or {}
    if not students or here - {*students}:
        named |= {key_path(f"{path}.stand_in", file): ours for file, ours in stand_in.items()}
    for where, file in named.items():
        if file is not None and file not in here:
            yield (
                f"{where}: found {found_text(file)}, which does not exist; "
                f"expected a file in the assignment's folder{did_you_mean(file, here)}"
            )


def _wrong_part_below(path: str, part: Table, parts: Sequence[Table]) -> Iterator[str]:
    """Yield what is wrong with the part this one builds on, and with what stands in for it."""
    for key, other in (("builds_on", "stand_in"), ("stand_in", "builds_on")):
        if key in part and other not in part:
            yield f"{path}.{other}: missing; {key} needs it"
    name = part.get("builds_on")
    if name is None:
        return
    others = {each["name"]: each for each in parts if each is not part and each.get("name")}
    below = others.get(name)
    if below is None:
        yield (
            f"{path}.builds_on: found {found_text(name)}; expected the name of "
            f"another part{did_you_mean(name, others)}"
        )
        return
    if below.get("builds_on"):
        yield f"{path}.builds_on: {name} builds on another part; expected a part that does not"
    for file in part.get("stand_in") or {}:
        if below.get("file") and file not in below["file"]:
            yield (
                f"{key_path(f'{path}.stand_in', file)}: found a file that {name} does not name; "
                f"expected one of {', '.join(below['file'])}{did_you_mean(file, below['file'])}"
            )


def _files_of_two(data: Table, parts: Mapping[str, Table]) -> Iterator[str]:
    """Yield which names of files would stand for two: ours and a student's, or two of a student."""
    support = set(data.get("support") or ())
    meant = {file: file for part in parts.values() for file in part.get("file") or ()}
    for file in sorted(support & meant.keys()):
        yield (
            f"support: found {found_text(file)}, which a part names; expected files that no "
            "part names"
        )
    for path, part in parts.items():
        for file, others in (part.get("accepted_names") or {}).items():
            where = key_path(f"{path}.accepted_names", file)
            if part.get("file") and file not in part["file"]:
                yield (
                    f"{where}: found a file that the part does not name; expected one of "
                    f"{', '.join(part['file'])}{did_you_mean(file, part['file'])}"
                )
            for other in others or ():
                if other in support or meant.setdefault(other, file) != file:
                    yield (
                        f"{where}: found {found_text(other)}, which already stands for another "
                        "file; expected an unused name"
                    )
