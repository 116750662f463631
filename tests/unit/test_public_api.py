"""grader.api does not change without its version, and the tables of its page have all of it."""

import json

import public_api
import pytest
from public_api import RECORD, needed_version, problem, sentence, surface

from grader import api


def test_it_is_what_its_version_says():
    """Where it is not, the sentence says what to do."""
    assert not problem(json.loads(RECORD.read_text()), api.API_VERSION, surface())


@pytest.mark.parametrize("name", api.__all__)
def test_each_name_has_a_sentence(name):
    assert sentence(name).endswith("."), "give it a docstring, or a line of CONSTANTS"
    assert f"`{name}" in public_api.tables()


BEFORE = {"f()": "None", "f(x)": "0, positional or keyword: int", "C": "object", "C.x": "int"}


@pytest.mark.parametrize(
    ("after", "version"),
    [
        (BEFORE, "1.2"),
        ({**BEFORE, "g()": "None", "g(x)": "0, positional or keyword: int"}, "1.3"),
        ({**BEFORE, "f(y)": "by name: int = 0"}, "1.3"),
        ({**BEFORE, "f(more)": "1, variadic keyword: Any"}, "1.3"),
        ({**BEFORE, "C.y": "int"}, "1.3"),
        ({**BEFORE, "f(y)": "by name: int"}, "2.0"),
        ({**BEFORE, "f(x)": "0, positional or keyword: int = 1"}, "2.0"),
        ({"f()": "None", "C": "object", "C.x": "int"}, "2.0"),
        ({**BEFORE, "C.x": "float"}, "2.0"),
    ],
)
def test_what_a_change_needs(after, version):
    assert needed_version("1.2", BEFORE, after) == version


def test_a_change_without_a_version_is_told_with_what_to_do():
    recorded = {"version": "1.9", "names": BEFORE}
    after = {**BEFORE, "g()": "None"}
    assert problem(recorded, "1.9", after) == (
        "grader.api has changed (g()) and its version is still 1.9: set API_VERSION in "
        "grader/api/__init__.py to 1.10, as docs/api.md promises, say so in CHANGELOG.md, and run "
        "`python tests/public_api.py`"
    )
    assert problem(recorded, "1.10", after) == (
        "grader.api is recorded as version 1.9: run `python tests/public_api.py`"
    )
    assert "to 2.0" in problem(recorded, "1.10", {"f()": "None"})
    assert not problem(recorded, "1.9", BEFORE)


def test_what_is_looked_at():
    """Parameters with defaults, fields, methods, members; each as grader.api calls it."""
    found = surface()
    assert found["assert_neighbours(may_be_silent)"] == "by name: bool = False"
    assert found["inject_faults(messages)"].endswith("Sequence[MessageFault]")
    assert found["Case.synchronous_sends"] == "bool = False"
    assert found["Verdict.ACCEPTED"] == "'ACCEPTED'"
    assert "Launch.holding(check)" in found
    assert "functions.COLLECTIVES" in found
    assert not any(" at 0x" in what for what in found.values())
