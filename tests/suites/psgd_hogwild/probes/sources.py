"""A look at the files that were handed in: what they import, and which names they use."""

import ast
import json
from pathlib import Path

_MAX_PLACES = 50


def read_sources(student, comm, *, file, solvers, names):
    """Return where the files handed in with `file` import a solver, or use one of the names."""
    imports, used = places_in(Path(student.module(file).__file__).parent, solvers, names)
    return {"imports": json.dumps(imports), "names": json.dumps(used)}


def places_in(folder, packages, names):
    """Return where the Python files of a folder import one of the packages, or use a name.

    Two lists of [file, line, name]. Files are read as text: what is never run counts too.
    """
    imports, used = [], []
    for path in sorted(folder.rglob("*.py")):
        try:
            nodes = list(ast.walk(ast.parse(path.read_bytes())))
        # MemoryError: nested deeper than the parser can take, so no Python can run it either.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in nodes:
            where = [path.relative_to(folder).as_posix(), getattr(node, "lineno", 0)]
            found = [name for name in _imported_by(node) if name.split(".")[0] in packages]
            imports += [[*where, name] for name in found]
            name = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, ast.Name | ast.Attribute) and name in names:
                used.append([*where, name])
    return imports[:_MAX_PLACES], used[:_MAX_PLACES]


def _imported_by(node):
    """Return the modules that a node of a syntax tree imports; a literal name counts too."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        value = node.args[0].value
        if name in ("import_module", "__import__") and isinstance(value, str):
            return [value]
    return []
