"""What students get of a suite can be imported: each module that a listed one imports is listed."""

import ast
import tomllib
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "suites"
ASSIGNMENTS = sorted(path.parent.name for path in SUITES.glob("*/assignment.toml"))


def imported(file: Path):
    """Yield the modules of its own suite that a file cannot be imported without."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = file.parents[node.level - 1]
            names = [node.module] if node.module else [name.name for name in node.names]
            for name in names:
                module = folder.joinpath(*name.split("."))
                yield module / "__init__.py" if module.is_dir() else module.with_suffix(".py")


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_each_module_that_a_listed_one_imports_is_listed(name):
    folder = SUITES / name
    listed = tomllib.loads((folder / "assignment.toml").read_text())["students"]
    needed = {
        module.relative_to(folder).as_posix()
        for file in listed
        if file.endswith(".py") and (folder / file).is_file()
        for module in imported(folder / file)
    }
    assert needed
    assert sorted(needed - set(listed)) == []
