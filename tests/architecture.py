"""Writes the two pictures of docs/architecture.md, which are made from the code.

`python tests/architecture.py` writes them; a test holds the page to them.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
ENGINE = ROOT / "grader"
DIVIDED = ("addons", "observe", "sealed")
"""Packages that only hold others, each of which is a package by itself."""


def packages(engine=ENGINE):
    """Return the package of each module by its dotted name: `grader.judge.values` to `judge`."""
    found = {}
    for file in sorted(engine.rglob("*.py")):
        inner = file.relative_to(engine).with_suffix("").parts
        if "new_assignment" in inner:
            continue
        depth = 2 if inner[0] in DIVIDED and len(inner) > 2 else 1
        name = inner[:-1] if inner[-1] == "__init__" else inner
        found[".".join(("grader", *name))] = ".".join(inner[:depth])
    return found


def imports(engine=ENGINE):
    """Return which packages each package imports."""
    known = packages(engine)
    found = {package: set() for module, package in known.items() if package not in DIVIDED}
    for module, package in known.items():
        for name in _imported(engine.parent, module):
            other = known.get(name) or known.get(name.rpartition(".")[0])
            if other not in (None, package, "__init__", *DIVIDED):
                found[package].add(other)
    found.pop("__init__", None)
    return found


def _imported(root, module):
    file = root.joinpath(*module.split("."))
    file = file.with_suffix(".py") if file.with_suffix(".py").is_file() else file / "__init__.py"
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def levels(engine=ENGINE):
    """Return the packages in lines: each imports only what stands in a lower one.

    Raises ValueError where packages import each other in a circle.
    """
    left, lines = imports(engine), []
    while left:
        line = sorted(name for name, others in left.items() if not others & left.keys())
        if not line:
            raise ValueError(f"a circle of packages: {', '.join(sorted(left))}")
        lines.insert(0, line)
        for name in line:
            del left[name]
    return lines


def picture():
    """Return the packages as lines of a layer each, the highest first."""
    lines = []
    for line in levels():
        text = "   ".join(name.replace(".", "/") for name in line)
        lines.append(f"  {text}")
    return "\n".join(lines)


def tree():
    """Return all packages with the first sentence of each."""
    lines = ["grader/"]
    for file in [*sorted(ENGINE.glob("*.py")), *_sorted_packages()]:
        inner = file.relative_to(ENGINE).parts
        if file.name == "__init__.py" and len(inner) == 1:
            continue
        is_package = file.name == "__init__.py"
        name = f"{inner[-2]}/" if is_package else inner[-1]
        indent = "  " * (len(inner) - 1 if is_package else len(inner))
        text = " ".join(
            (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")[0].split()
        )
        lines.append(f"{indent}{name:<{24 - len(indent)}} {text}".rstrip())
    return "\n".join(lines)


def _sorted_packages():
    files = [each for each in ENGINE.rglob("__init__.py") if "new_assignment" not in each.parts]
    return sorted(files, key=lambda file: file.parent.relative_to(ENGINE).parts)


def page(text):
    """Return the page with its pictures as they should be."""
    for name, drawn in (("tree", tree()), ("picture", picture())):
        pattern = rf"(<!-- {name}: .*? -->\n).*?(<!-- end -->)"
        text = re.sub(
            pattern,
            lambda found, drawn=drawn: f"{found[1]}```\n{drawn}\n```\n{found[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
