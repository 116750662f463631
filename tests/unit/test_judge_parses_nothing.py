"""No code that runs in the judge can parse or run a submission's source."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARSERS = {
    "ast",
    "code",
    "codeop",
    "dis",
    "linecache",
    "parser",
    "py_compile",
    "symtable",
    "tokenize",
}
CALLS = {"compile", "eval", "exec"}
ELSEWHERE = (
    *("addons/authoring/", "course/support/", "intake/", "observe/forkserver/", "rank/"),
    "sealed/selftest/",
)
"""Rooms of grader whose code runs beside the judge: in ranks, in a reader of files, for authors."""
IN_THE_JUDGE = [
    file
    for file in sorted((ROOT / "grader").rglob("*.py"))
    if not file.relative_to(ROOT / "grader").as_posix().startswith(ELSEWHERE)
    # What it parses is the course's: its probes.
    and file.name != "asked_probes.py"
] + [
    file
    for file in sorted((ROOT / "tests" / "suites").rglob("*.py"))
    if "probes" not in file.parts and file.name != "probes.py"
]


@pytest.mark.parametrize("file", IN_THE_JUDGE, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_parser_of_python_is_used(file):
    """Parsing can take quadratic time, or all memory, in one step that nothing ends."""
    used = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            used |= {alias.name.split(".")[0] for alias in node.names} & PARSERS
        elif isinstance(node, ast.ImportFrom) and not node.level:
            used |= {str(node.module).split(".")[0]} & PARSERS
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used |= {node.func.id} & CALLS
    assert not used
