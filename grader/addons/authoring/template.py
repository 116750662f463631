"""Makes the template that students start from: the reference without its marked solutions.

Files that many assignments share are added. A solution stands between two comments of equal
indentation, inside a function:

    # solution: the sum over all ranks
    total = comm.allreduce(mine)
    # end of solution

A TODO comment and a NotImplementedError take its place; both name, in the words of the marker, what
is missing. All other lines stay as they are.
"""

import ast
import contextlib
import os
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePath

from grader.course.assignment import Assignment
from grader.model.errors import GraderError, UsageError
from grader.model.points import total, written

_MAX_LINE_LENGTH = 100
_BEGIN = re.compile(r"^(?P<indent> *)# solution: (?P<words>\S.*)$")
_END = re.compile(r"^(?P<indent> *)# end of solution$")
_LOOKS_LIKE_A_MARKER = re.compile(
    r"^\s*#+\s*(end\s+)?(of\s+)?(the\s+)?solution\s*(:|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class _Solution:
    """One marked block; its lines are those of the markers, counted from 1."""

    begin: int
    end: int
    indent: str
    words: str


def strip_solutions(source: str, file: str) -> str:
    """Return Python source with every marked solution replaced; `file` is its name in messages.

    Raises GraderError, naming file and line, when a marker is misspelt, without its partner or
    outside of a function, or when a solution is not made of whole statements.
    """
    lines = source.split("\n")
    solutions = _find_solutions(lines, file)
    if not solutions:
        return source
    bodies = list(_bodies_in_functions(_parse(source, file)))
    stripped: list[str] = []
    kept_from = 0
    for solution in solutions:
        held = lines[solution.begin : solution.end - 1]
        if not all(line.startswith(solution.indent) for line in held if line.strip()) or not any(
            _holds_whole_statements(solution, body) for body in bodies
        ):
            raise GraderError(
                f"{file}:{solution.begin}: a solution must consist of whole statements inside a "
                "function, indented at least as far as its marker"
            )
        stripped += lines[kept_from : solution.begin - 1]
        stripped += _hole(solution, file)
        kept_from = solution.end
    return "\n".join(stripped + lines[kept_from:])


def solution_lines(source: str, file: str) -> frozenset[int]:
    """Return the numbers, from 1, of the lines that solutions hold.

    Raises GraderError, naming file and line, when a marker is misspelt or without its partner.
    """
    found = _find_solutions(source.split("\n"), file)
    return frozenset(line for each in found for line in range(each.begin + 1, each.end))


def _find_solutions(lines: list[str], file: str) -> list[_Solution]:
    solutions: list[_Solution] = []
    begin: int | None = None
    indent = words = ""
    for number, line in enumerate(lines, start=1):
        if match := _BEGIN.match(line):
            if begin is not None:
                raise GraderError(
                    f"{file}:{number}: this solution begins inside the solution on line {begin}; "
                    "end that one first with `# end of solution`"
                )
            begin, indent, words = number, match["indent"], match["words"]
        elif match := _END.match(line):
            if begin is None:
                raise GraderError(
                    f"{file}:{number}: no solution begins before this `# end of solution`"
                )
            if match["indent"] != indent:
                raise GraderError(
                    f"{file}:{number}: `# end of solution` is indented by {len(match['indent'])}, "
                    f"but its `# solution` on line {begin} is indented by {len(indent)}; align them"
                )
            solutions.append(_Solution(begin, number, indent, words))
            begin = None
        elif _LOOKS_LIKE_A_MARKER.match(line):
            raise GraderError(
                f"{file}:{number}: `{line.strip()}` is not a marker; the only markers are `# "
                "solution: <what is left to the student>` and `# end of solution`"
            )
    if begin is not None:
        raise GraderError(f"{file}:{begin}: this solution has no `# end of solution`")
    return solutions


def _parse(source: str, file: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise GraderError(f"{file}:{error.lineno}: {error.msg}") from error


def _bodies_in_functions(node: ast.AST, inside: bool = False) -> Iterator[list[ast.stmt]]:
    """Yield every list of statements below node that belongs to a function.

    Anywhere else a NotImplementedError would be raised by the import already.
    """
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if inside and isinstance(body, list):
            yield body
    for child in ast.iter_child_nodes(node):
        yield from _bodies_in_functions(child, inside and not isinstance(child, ast.ClassDef))


def _holds_whole_statements(solution: _Solution, body: list[ast.stmt]) -> bool:
    """Return whether some statements of body are in the solution and none is cut by a marker."""
    touched = [
        statement
        for statement in body
        if statement.lineno < solution.end and _last_line(statement) > solution.begin
    ]
    return bool(touched) and all(
        solution.begin < statement.lineno
        and _last_line(statement) < solution.end
        and statement.col_offset == len(solution.indent)
        for statement in touched
    )


def _last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _hole(solution: _Solution, file: str) -> list[str]:
    """Return the lines that take a solution's place."""
    if '"' in solution.words or "\\" in solution.words:
        raise GraderError(
            f"{file}:{solution.begin}: a marker must not contain double quotes or backslashes"
        )
    indent = solution.indent
    message = f"{PurePath(file).name}: TODO: {solution.words}"
    raising = [f'{indent}raise NotImplementedError("{message}")']
    if len(raising[0]) > _MAX_LINE_LENGTH:
        *pieces, last = textwrap.wrap(message, _MAX_LINE_LENGTH - len(f'{indent}    " "'))
        strings = [f'{indent}    "{piece} "' for piece in pieces] + [f'{indent}    "{last}"']
        raising = [f"{indent}raise NotImplementedError(", *strings, f"{indent})"]
    return [f"{indent}# TODO: {solution.words}", *raising]


HEADING = re.compile(r"(#+) (.*)")
_QUESTION = re.compile(r"\d+\. \*\*(\w+)\*\*")
_POINTS = re.compile(r"\|\s*(\d+(?:\.\d+)?)\s*\|\s*$")


def of_parts(text: str, assignment: Assignment, wanted: Collection[str]) -> str:
    """Return a handout without the sections, rows and questions of parts that are not wanted.

    Questions are numbered again, and the row of points given by hand has the points that are left.
    A section without questions left is removed. Prose about other parts stays.
    """
    marked = {each.name: each.points for each in assignment.manual}
    known = {each.name for each in assignment.parts} | marked.keys()
    by_people = total(marked.values())
    left = total(points for name, points in marked.items() if name in wanted)
    kept: list[str] = []
    for section in _sections(text, known - {*wanted}, known):
        asked = {found[1] for line in section if (found := _QUESTION.match(line))} & marked.keys()
        if not asked or asked & {*wanted}:
            kept += _lines_of(section, known - {*wanted}, known, (by_people, left))
    return "\n".join([*kept, ""])


def _sections(text: str, unwanted: Collection[str], known: Collection[str]) -> Iterator[list[str]]:
    """Yield the sections, each with its heading, but those that name unwanted parts alone."""
    section: list[str] = []
    left_out, is_code = 0, False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else HEADING.match(line)
        if heading:
            yield section
            section = []
            level = len(heading[1])
            named = {word for word in re.findall(r"\w+", heading[2]) if word in known}
            if not left_out or level <= left_out:
                left_out = level if level > 1 and named and named <= {*unwanted} else 0
        if not left_out:
            section.append(line)
    yield section


def _lines_of(
    section: Sequence[str],
    unwanted: Collection[str],
    known: Collection[str],
    by_people: tuple[float, float],
) -> Iterator[str]:
    """Yield the lines of a section but those of unwanted parts.

    by_people: the points that a person gives in all, and those that are left of them.
    """
    number, is_left_out, is_of_parts = 0, False, False
    for line in section:
        if question := _QUESTION.match(line):
            is_left_out = question[1] in unwanted
            number += not is_left_out
        elif not line.startswith(" "):
            is_left_out = False
        first = line.split("|")[1].strip(" `*") if line.startswith("|") else ""
        is_of_parts = bool(first) and (is_of_parts or first == "part")
        points = _POINTS.search(line)
        if is_left_out or first in unwanted:
            continue
        if points and is_of_parts and first not in known and float(points[1]) == by_people[0]:
            if by_people[1]:
                yield line[: points.start(1)] + written(by_people[1]) + line[points.end(1) :]
        else:
            yield re.sub(r"^\d+", str(number), line) if question else line


HANDOUT = "HANDOUT.md"
NOTHING_SHARED: Mapping[str, Path] = {}


def require_free(output_dir: Path) -> None:
    """Raise UsageError for a folder that cannot be read, or is not empty."""
    try:
        is_free = not output_dir.exists() or not any(output_dir.iterdir())
    except OSError as error:
        raise UsageError(
            f"{output_dir} cannot be written to: {error.strerror}; name a new folder"
        ) from None
    if not is_free:
        raise UsageError(
            f"{output_dir} is not empty; name a new folder, so that nothing is overwritten"
        )


def write(assignment: Assignment, output_dir: Path, parts: Collection[str] | None = None) -> None:
    """Write the template of an assignment: from its reference if installed, else the ready one.

    parts: those in its handout; None for all. All files are written, since provided programs may
    import them. Raises UsageError for an unknown part, and as `generate` does.
    """
    if parts is not None and (sentence := assignment.wrong_part(parts)):
        raise UsageError(sentence)
    if assignment.reference.is_dir():
        generate(assignment.reference, output_dir, assignment.shared_support())
    elif template := _files_in(assignment.template):
        _write(output_dir, template)
    else:
        raise GraderError(f"{assignment.template} has no template")
    handout = output_dir / HANDOUT
    if parts is not None and handout.is_file():
        handout.write_text(of_parts(handout.read_text(), assignment, parts))


def generate(
    reference_dir: Path, output_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[Path]:
    """Write the template of the reference in reference_dir to output_dir; return its files, sorted.

    shared: further files of the template, by their paths in it, with where they lie.
    Raises GraderError for a reference that is empty or wrongly marked (naming file and line), and
    UsageError as `require_free` does.
    """
    return _write(output_dir, _template_of(reference_dir, shared))


def drift(
    reference_dir: Path, template_dir: Path, shared: Mapping[str, Path] = NOTHING_SHARED
) -> list[str]:
    """Return a sentence for each file of template_dir that generate() would write differently.

    Raises GraderError for a reference that is empty or wrongly marked.
    """
    expected, actual = _template_of(reference_dir, shared), _files_in(template_dir)
    sources = {Path(relative): path for relative, path in shared.items()}
    sentences = [
        f"{template_dir / relative} has no matching file in {reference_dir}"
        for relative in actual.keys() - expected.keys()
    ]
    for relative, content in expected.items():
        if relative not in actual:
            sentences.append(
                f"{template_dir / relative} is missing (it comes from "
                f"{sources.get(relative, reference_dir / relative)})"
            )
        elif actual[relative] != content:
            line = _first_difference(actual[relative], content)
            sentences.append(
                f"{template_dir / relative} is out of date: line {line} does not match "
                f"{sources.get(relative, reference_dir / relative)}"
            )
    return sorted(sentences)


def _write(output_dir: Path, template: Mapping[Path, bytes]) -> list[Path]:
    require_free(output_dir)
    return write_files({output_dir / path: content for path, content in template.items()})


def write_files(files: Mapping[Path, bytes]) -> list[Path]:
    """Write files for the owner of the place; return them sorted. Raises UsageError."""
    try:
        for path, content in files.items():
            for folder in reversed(list(_missing_folders(path))):
                folder.mkdir()
                _give_to_owner_of(folder.parent, folder)
            path.write_bytes(content)
            _give_to_owner_of(path.parent, path)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be written: {error.strerror}; name another folder"
        ) from error
    return sorted(files)


def _missing_folders(path: Path) -> Iterator[Path]:
    """Yield the folders above path that do not exist, the nearest first."""
    for folder in path.absolute().parents:
        if folder.exists():
            return
        yield folder


def _give_to_owner_of(folder: Path, path: Path) -> None:
    """Give a path made by root to the owner of its folder: containers run as root."""
    wanted, found = folder.stat(), path.stat()
    if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (wanted.st_uid, wanted.st_gid):
        # Some file systems know no owners; the files can be read anyway.
        with contextlib.suppress(OSError):
            os.chown(path, wanted.st_uid, wanted.st_gid)


def _template_of(reference_dir: Path, shared: Mapping[str, Path]) -> dict[Path, bytes]:
    reference = _files_in(reference_dir)
    if not reference:
        raise GraderError(f"{reference_dir} has no files to make a template from")
    template = {
        relative: _stripped(content, relative) if relative.suffix == ".py" else content
        for relative, content in reference.items()
    }
    return {**template, **{Path(name): path.read_bytes() for name, path in shared.items()}}


def _files_in(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below folder but hidden ones and compiled Python.

    Python does not compare an image's bytecode with its source, and would run it instead of the
    student's code.
    """
    relatives = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        relative: (folder / relative).read_bytes()
        for relative in relatives
        if not any(name.startswith(".") or name == "__pycache__" for name in relative.parts)
    }


def _stripped(content: bytes, relative: Path) -> bytes:
    try:
        source = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise GraderError(
            f"{relative.as_posix()}:{line}: not UTF-8; save the file as UTF-8"
        ) from error
    return strip_solutions(source, relative.as_posix()).encode()


def _first_difference(actual: bytes, expected: bytes) -> int:
    """Return the number, from 1, of the first line in which two different files differ."""
    pairs = zip_longest(actual.split(b"\n"), expected.split(b"\n"))
    return next(number for number, (a, b) in enumerate(pairs, start=1) if a != b)
