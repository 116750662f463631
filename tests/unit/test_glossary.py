"""The glossary is in order, and names what there is; classes are explained by their docstrings."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text()
TERMS = re.findall(r"^- \*\*(.+?)\*\*", PAGE, re.MULTILINE)
NAMES = set(re.findall(r"`([^`]+)`", PAGE))


def test_terms_are_in_alphabetical_order_and_each_is_there_once():
    lower = [term.lower() for term in TERMS]
    assert lower == sorted(set(lower))
    assert len(lower) > 50


def test_a_file_that_is_named_exists():
    files = {name for name in NAMES if "/" in name}
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_every_public_class_says_what_it_is():
    """Of the whole engine, so that no word of the code needs a line on the page."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "grader").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []
