"""Every test file is collected by the command of `make test`, whatever its folder is called."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_SUITES = ("tests/suites/", "tests/stencils/tests/suites/")
"""Those grade a submission: `grade` runs them."""
LIST = """
import pytest

class Listed(pytest.File):
    def collect(self):
        return []

class Plugin:
    def pytest_pycollect_makemodule(self, module_path, parent):
        print("found", module_path.relative_to(parent.config.rootpath).as_posix())
        return Listed.from_parent(parent, path=module_path)

raise SystemExit(pytest.main(["--collect-only", "-q", "-m", ""], plugins=[Plugin()]))
"""
"""Lists test files as pytest finds them, and imports none: `make test` does that anyway."""


def test_no_test_file_is_left_out():
    """A folder's name in `norecursedirs` once hid a thousand tests."""
    command = [sys.executable, "-c", LIST]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 5, done.stdout[-3000:] + done.stderr  # no test is collected
    lines = done.stdout.splitlines()
    collected = {line.removeprefix("found ") for line in lines if line.startswith("found ")}
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert files - collected == {each for each in files if each.startswith(OF_SUITES)}
    assert not [each for each in collected if not has_test(ROOT / each)]


def has_test(file: Path) -> bool:
    """Return whether a file has a test function, be it in a class."""
    nodes = ast.walk(ast.parse(file.read_bytes()))
    return any(isinstance(n, ast.FunctionDef) and n.name.startswith("test_") for n in nodes)
