"""The glossary names what there is, and every main noun is in the glossary."""

import ast
import re
from dataclasses import is_dataclass
from pathlib import Path

import grader.api
import grader.model

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text()
TERMS = re.findall(r"^- \*\*(.+?)\*\*", PAGE, re.MULTILINE)
NAMES = set(re.findall(r"`([^`]+)`", PAGE))
CLASS = re.compile(r"[A-Z][a-z]\w*")


def classes():
    """Return the names of all classes of the engine, and of the types that suites import."""
    trees = (ast.parse(path.read_text()) for path in (ROOT / "grader").rglob("*.py"))
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)} | {*grader.api.__all__}


def is_there(name):
    """Return whether `grader.a.b` is a package, a module, or something a module has."""
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_terms_are_in_alphabetical_order_and_each_is_there_once():
    lower = [term.lower() for term in TERMS]
    assert lower == sorted(set(lower))
    assert len(lower) > 100


def test_a_class_that_is_named_exists():
    named = {name for name in NAMES if CLASS.fullmatch(name)}
    assert len(named) > 40
    assert named - classes() == set()


def test_a_module_or_file_that_is_named_exists():
    modules = {name for name in NAMES if name.startswith("grader.")}
    files = {name for name in NAMES if "/" in name}
    assert len(modules) > 10 and len(files) > 15
    assert [name for name in modules if not is_there(name)] == []
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_every_noun_of_the_model_is_there():
    public = {
        name
        for name, value in vars(grader.model).items()
        if not name.startswith("_") and is_dataclass(value) and value.__module__ == "grader.model"
    }
    assert len(public) > 8
    assert public - NAMES == set()


def test_every_class_of_the_api_is_there():
    public = {name for name in grader.api.__all__ if CLASS.fullmatch(name)}
    assert len(public) > 10
    assert public - NAMES == set()


def test_every_room_of_the_engine_is_there():
    packages = {f"grader.{path.parent.name}" for path in (ROOT / "grader").glob("*/__init__.py")}
    assert len(packages) > 10
    assert packages - NAMES == set()
