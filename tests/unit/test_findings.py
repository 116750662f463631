"""A key stands in one place, where its sentence is made; facts are plain data."""

import ast
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from grader.model.finding import Finding, found

ROOT = Path(__file__).parents[2]
SUITES = sorted(file.parent for file in (ROOT / "tests" / "suites").glob("*/assignment.toml"))
KEY = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
VERDICTS = {"WrongAnswer", "RuleViolation", "BudgetExceeded", "NotProven"}


def calls(folder: Path, *names: str):
    """Yield the calls of these functions in a folder, each with its file."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in ("at", "over"):
                called = called.value
            if getattr(called, "id", "") in names:
                yield file, node


def keys(folder: Path) -> list[str]:
    return [
        node.args[0].value
        for _, node in calls(folder, "found", "Finding")
        if node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value
    ]


@pytest.mark.parametrize("suite", SUITES, ids=lambda each: each.name)
def test_a_key_stands_in_one_place(suite):
    """Of the engine and of a suite together: a label says which finding it means."""
    used = Counter([*keys(ROOT / "grader"), *keys(suite)])
    assert [key for key, number in used.items() if number > 1] == []
    assert [key for key in used if key != "not_attempted" and not KEY.fullmatch(key)] == []


@pytest.mark.parametrize("folder", [ROOT / "grader", *SUITES], ids=lambda each: each.name)
def test_what_is_raised_has_a_key(folder):
    """No verdict of ours is a bare sentence."""
    bare = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file, node in calls(folder, *VERDICTS)
        if any(isinstance(each, ast.Constant | ast.JoinedStr) for each in node.args)
    ]
    assert bare == []


def test_facts_are_plain():
    """Whatever they were: JSON has them, and labels name them."""
    made = found(
        "ring.wrong", "it is 1", rank=np.int64(1), ranks={2, 0}, size=range(2), what=Path("a")
    )
    assert made.facts == {"rank": 1, "ranks": (0, 2), "size": (0, 1), "what": "a"}
    assert type(made.facts["rank"]) is int


def test_places_and_help():
    made = Finding("a.b", "it is so", {"place": "a.py:1", "places": ("b.py:2", "")}, "look there")
    assert made.places == ("b.py:2", "a.py:1")
    assert str(made) == "it is so; look there"
