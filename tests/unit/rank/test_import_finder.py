"""What a submission may import from its own folders, and what never comes from there."""

import importlib
import sys
from pathlib import Path

import pytest

from grader.rank.import_finder import OwnModules

FILES = {
    "part1/main.py": "",
    "part2a/main.py": "",
    "tools_of_mine/one_tool.py": "value = 'a tool'",
    "deep_package/__init__.py": "value = 'a package'",
    "deep_package/inner/layer.py": "from ..shared import value",
    "deep_package/shared.py": "value = 'from within'",
    "src/nested_package/leaf.py": "value = 'a leaf'",
    "old/twice_there.py": "",
    "new/twice_there.py": "",
    "mine/json.py": "raise AssertionError('shadows the library')",
    "mine/given_by_course.py": "raise AssertionError('shadows what was given')",
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return a submission whose modules can be imported for the length of a test."""
    root = tmp_path / "submission"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    support = tmp_path / "support"
    support.mkdir()
    (support / "given_by_course.py").write_text("value = 'given'")
    monkeypatch.setattr(sys, "path", [*sys.path, str(support), str(root)])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, OwnModules(root)])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield root
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("one_tool", "a tool"),
        ("tools_of_mine.one_tool", "a tool"),
        ("deep_package", "a package"),
        ("deep_package.inner.layer", "from within"),
        ("nested_package.leaf", "a leaf"),
        ("src.nested_package.leaf", "a leaf"),
        ("given_by_course", "given"),
    ],
)
def test_scripts_and_packages_are_found_in_any_folder(folder, name, value):
    """As a program finds them that was started in the right place; what was given comes first."""
    assert importlib.import_module(name).value == value


def test_no_library_is_shadowed(folder):
    """Also one that has not been imported before."""
    loaded = sys.modules.pop("json")
    try:
        assert str(folder) not in importlib.import_module("json").__file__
    finally:
        sys.modules["json"] = loaded


@pytest.mark.parametrize("name", ["twice_there", "main", "not_there", "one_tool.more"])
def test_what_is_not_there_once_is_not_found(folder, name):
    """Which of two is meant is nothing to guess."""
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)
