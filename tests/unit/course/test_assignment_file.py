"""Every mistake in an assignment.toml is told with its key path; its page names every key."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial

import pytest

from grader.course import assignment_file
from grader.course.assignment_file import AssignmentTable, Manual, Part, RubricLine
from grader.course.courses import bundled
from grader.model.errors import GraderError
from grader.model.report import BACKENDS

BUNDLED = sorted(file.parent.name for file in bundled().suites.glob("*/assignment.toml"))
PAGE = (bundled().root / "docs" / "assignment-file.md").read_text()

HARMLESS_WITHOUT = {
    (AssignmentTable, "name"): "the assignment is called as its folder",
    (AssignmentTable, "source"): "an exercise may have no origin",
    (AssignmentTable, "support"): "an assignment may hand out nothing",
    (AssignmentTable, "needs"): "ranks may import nothing more",
    (AssignmentTable, "students"): "students may get all that is not hidden",
    (AssignmentTable, "manual"): "a person may have nothing to mark",
    (Part, "rules"): "a part may have no rules beside being right",
    (Part, "accepted_names"): "files may have one name only",
    (Part, "course_only"): "students may judge by every test",
    (Part, "hidden_points"): "there may be no hidden tests",
    (Manual, "other_names"): "a report may have one name only",
    (Manual, "max_pages"): "a person may read any number of pages",
    (Manual, "rubric"): "the title may be all that is asked",
}
OTHER_TYPES = ("no such value", 3, True, ["x"], {"x": "y"}, [3])
"""The last is of no key's type: where a list is right, its item is not."""


def toml(table: dict) -> str:
    """Return a table as TOML, each item of a list in a line of its own."""
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return "[\n" + "".join(f"{_value(item)},\n" for item in value) + "]"
    return json.dumps(value)


@pytest.fixture
def told(tmp_path) -> Callable[[dict, str], list[str]]:
    """Return what tells the mistakes of a table, without the file; suites are there as bundled."""

    def told(table: dict, name: str) -> list[str]:
        folder = tmp_path / name
        if not folder.exists():
            for suite in (bundled().suites / name).rglob("*.py"):
                copy = folder / suite.relative_to(bundled().suites / name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.touch()
        file = folder / "assignment.toml"
        file.write_text(toml(table))
        try:
            assignment_file.read(file, name)
        except GraderError as error:
            return [sentence.removeprefix(f"{file}: ") for sentence in error.args]
        return []

    return told


def tables_of(data: dict) -> Iterator[tuple[type, str, str, Callable[[dict], dict]]]:
    """Yield each table: its Struct, its path, that by position, what finds it in a copy."""
    yield AssignmentTable, "", "", lambda data: data
    for kind, struct in (("parts", Part), ("manual", Manual)):
        for index, item in enumerate(data.get(kind, [])):
            find = partial(_item, kind=kind, index=index)
            path, by_position = f"{kind}.{item['name']}.", f"{kind}[{index}]."
            yield struct, path, by_position, find
            for line in range(len(item.get("rubric", ()))):
                of_rubric = partial(_line, index=index, line=line)
                at = f"rubric[{line}]."
                yield RubricLine, path + at, by_position + at, of_rubric


def _line(data: dict, index: int, line: int) -> dict:
    return data["manual"][index]["rubric"][line]


def _item(data: dict, kind: str, index: int) -> dict:
    return data[kind][index]


def _kind(value: object) -> type:
    return float if type(value) is int else type(value)


@pytest.mark.parametrize("name", BUNDLED)
def test_each_single_mistake_is_told_with_its_key_path(told, name):
    """A key less, a key more, a value of another type: in every table of every bundled file."""
    data = tomllib.loads((bundled().suites / name / "assignment.toml").read_text())
    assert told(data, name) == []
    for struct, path, by_position, find in tables_of(data):
        for key, value in find(data).items():
            # A table that has lost its name is called by its position.
            starts = (f"{path}{key}", f"{by_position}{key}")
            mutant = deepcopy(data)
            del find(mutant)[key]
            sentences = told(mutant, name)
            if (struct, key) in HARMLESS_WITHOUT:
                assert sentences == [], starts
            else:
                assert any(each.startswith(starts) for each in sentences), (starts, sentences)

            mutant = deepcopy(data)
            find(mutant)[f"{key}_"] = value
            (sentence,) = told(mutant, name)
            assert sentence.startswith(f"{path}{key}_: unknown key; expected one of: ")
            assert sentence.endswith(f". Did you mean {key}?")

            for other in OTHER_TYPES:
                if _kind(other) is _kind(value) and other != [3]:
                    continue
                mutant = deepcopy(data)
                find(mutant)[key] = other
                sentences = told(mutant, name)
                assert any(each.startswith(starts) for each in sentences), (other, sentences)


def test_the_example_of_the_page_is_right(tmp_path):
    """Once the files it names are there."""
    example = re.search(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
    file = tmp_path / "assignment.toml"
    file.write_text(example)
    for name in ("test_ring.py", "test_training.py", "stand_ins/ring.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = assignment_file.read(file, "rings")
    assert [(part.name, part.points, part.hidden_points) for part in found.parts] == [
        ("ring", 7.5, 2.5),
        ("training", 10, 0),
    ]


def test_the_page_names_every_world():
    """As the model knows them."""
    assert re.findall(r"^\| `([a-z-]+)` \| [^|]+ \|$", PAGE, re.MULTILINE) == list(BACKENDS)
