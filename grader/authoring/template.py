"""Makes the students' template from the reference by cutting its marked solutions out.

A solution stands between two comments of equal indentation, inside a function:

    # solution: the sum over all ranks
    total = comm.allreduce(mine)
    # end of solution

In the template a TODO comment and a NotImplementedError take its place; both name, in the words of
the marker, what is missing. All other lines, and files without markers, stay as they are.
"""

import ast
import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from grader.errors import GraderError, UsageError

_MAX_LINE_LENGTH = 100
_BEGIN = re.compile(r"^(?P<indent> *)# solution: (?P<words>\S.*)$")
_END = re.compile(r"^(?P<indent> *)# end of solution$")
_LOOKS_LIKE_A_MARKER = re.compile(r"^\s*#\s*(end\s+)?(of\s+)?(the\s+)?solution\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Solution:
    """One marked block; line numbers count from 1 and are those of the markers."""

    begin: int
    end: int
    indent: str
    words: str


def generate(reference_dir: Path, output_dir: Path) -> list[Path]:
    """Write the template of the reference in reference_dir to output_dir; return its files, sorted.

    Raises GraderError for a reference that is empty or wrongly marked (naming file and line), and
    UsageError, before anything is written, where a file with other contents is in the way.
    """
    template = _template_of(reference_dir)
    paths = {output_dir / relative: content for relative, content in template.items()}
    try:
        for path, content in paths.items():
            if path.exists() and path.read_bytes() != content:
                raise UsageError(
                    f"{path} exists and is not the untouched template: name a new folder, so that "
                    "nobody's work is overwritten"
                )
        for path, content in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise UsageError(
            f"the template cannot be written to {output_dir}: {error.strerror}"
        ) from error
    return sorted(paths)


def drift(reference_dir: Path, template_dir: Path) -> list[str]:
    """Return a sentence for each file of template_dir that generate() would write differently.

    Raises GraderError for a reference that is empty or wrongly marked.
    """
    expected = _template_of(reference_dir)
    actual = _files_in(template_dir)
    sentences = [
        f"{template_dir / relative} is not made from any file of {reference_dir}"
        for relative in actual
        if relative not in expected
    ]
    for relative, content in expected.items():
        if relative not in actual:
            sentences.append(
                f"{template_dir / relative} is missing; {reference_dir / relative} makes it"
            )
        elif actual[relative] != content:
            line = _first_difference(actual[relative], content)
            sentences.append(
                f"{template_dir / relative} differs at line {line} from what "
                f"{reference_dir / relative} makes"
            )
    return sorted(sentences)


def strip_solutions(source: str, file: str) -> str:
    """Return Python source with every marked solution replaced; `file` is the name in messages.

    Raises GraderError, naming file and line, when the markers are misspelt, unbalanced, outside of
    a function or around no code, or when the result is not valid Python.
    """
    lines = source.split("\n")
    solutions = _find_solutions(lines, file)
    if not solutions:
        return source
    _demand_whole_statements_in_functions(source, solutions, file)
    kept_from = 0
    stripped: list[str] = []
    for solution in solutions:
        stripped += lines[kept_from : solution.begin - 1]
        stripped += _hole(solution, file)
        kept_from = solution.end
    return "\n".join(stripped + lines[kept_from:])


def _template_of(reference_dir: Path) -> dict[Path, bytes]:
    reference = _files_in(reference_dir)
    if not reference:
        raise GraderError(f"{reference_dir} holds no reference to make a template from")
    return {
        relative: _stripped(content, relative) if relative.suffix == ".py" else content
        for relative, content in reference.items()
    }


def _stripped(content: bytes, relative: Path) -> bytes:
    try:
        source = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise GraderError(f"{relative}:{line}: not UTF-8") from error
    return strip_solutions(source, relative.as_posix()).encode()


def _files_in(folder: Path) -> dict[Path, bytes]:
    """Return the contents of all files below folder but hidden ones and compiled Python."""
    relatives = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        relative: (folder / relative).read_bytes()
        for relative in relatives
        if not any(name.startswith(".") or name == "__pycache__" for name in relative.parts)
    }


def _find_solutions(lines: list[str], file: str) -> list[_Solution]:
    solutions: list[_Solution] = []
    opened: tuple[int, str, str] | None = None
    for number, line in enumerate(lines, start=1):
        if begin := _BEGIN.match(line):
            if opened:
                raise GraderError(
                    f"{file}:{number}: a solution begins inside the one of line {opened[0]}; "
                    "end that with `# end of solution` first"
                )
            opened = number, begin["indent"], begin["words"]
        elif end := _END.match(line):
            if not opened:
                raise GraderError(f"{file}:{number}: no solution begins before this end")
            if end["indent"] != opened[1]:
                raise GraderError(
                    f"{file}:{number}: indented by {len(end['indent'])}, but its solution begins "
                    f"in line {opened[0]} with {len(opened[1])}"
                )
            solutions.append(_Solution(opened[0], number, opened[1], opened[2]))
            opened = None
        elif _LOOKS_LIKE_A_MARKER.match(line):
            raise GraderError(
                f"{file}:{number}: `{line.strip()}` is not a marker; markers are exactly "
                "`# solution: <what is left to the student>` and `# end of solution`"
            )
    if opened:
        raise GraderError(f"{file}:{opened[0]}: this solution has no `# end of solution`")
    return solutions


def _demand_whole_statements_in_functions(
    source: str, solutions: list[_Solution], file: str
) -> None:
    """Raise GraderError unless each solution is a run of complete statements of one function.

    Elsewhere its NotImplementedError would be raised by the import, or not at all.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise GraderError(f"{file}:{error.lineno}: {error.msg}") from error
    bodies = [
        (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or inside, body)
        for node, inside in _nodes_in_functions(tree)
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        if isinstance(body, list)
    ]
    for solution in solutions:
        if not any(
            inside and _covers_statements(solution, body) for inside, body in bodies
        ):
            raise GraderError(
                f"{file}:{solution.begin}: a solution has to hold whole statements of one function"
            )


def _nodes_in_functions(tree: ast.AST, inside: bool = False) -> list[tuple[ast.AST, bool]]:
    """Return each node below tree, and whether it stands in a function."""
    inside = inside or isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    nodes = [(tree, inside)]
    for child in ast.iter_child_nodes(tree):
        nodes += _nodes_in_functions(child, inside)
    return nodes


def _covers_statements(solution: _Solution, body: list[ast.stmt]) -> bool:
    """Return whether at least one statement of body is inside, and none is cut by a marker."""
    inside = [s for s in body if solution.begin < s.lineno and (s.end_lineno or 0) < solution.end]
    cut = [
        s
        for s in body
        if s not in inside and s.lineno < solution.end and (s.end_lineno or 0) > solution.begin
    ]
    return bool(inside) and not cut


def _hole(solution: _Solution, file: str) -> list[str]:
    """Return the lines that take a solution's place."""
    if '"' in solution.words or "\\" in solution.words:
        raise GraderError(f"{file}:{solution.begin}: a marker may not hold a quote or a backslash")
    indent = solution.indent
    message = f'"{Path(file).name}: {solution.words} is still to be written"'
    one_line = f"{indent}raise NotImplementedError({message})"
    three_lines = [f"{indent}raise NotImplementedError(", f"{indent}    {message}", f"{indent})"]
    if len(three_lines[1]) > _MAX_LINE_LENGTH:
        raise GraderError(
            f"{file}:{solution.begin}: too long by {len(three_lines[1]) - _MAX_LINE_LENGTH} "
            "characters to be said in one line of the template"
        )
    raising = [one_line] if len(one_line) <= _MAX_LINE_LENGTH else three_lines
    return [f"{indent}# TODO: {solution.words}", *raising]


def _first_difference(actual: bytes, expected: bytes) -> int:
    pairs = zip_longest(actual.split(b"\n"), expected.split(b"\n"))
    return next(number for number, (a, b) in enumerate(pairs, start=1) if a != b)
