"""What does not agree within an assignment.toml, or with the files beside it, is told."""

from copy import deepcopy

import pytest

from grader.course.cross_references import disagreements

RING = {"name": "ring", "file": ["ring.py"], "suite": "test_ring.py", "backend": "mpi", "points": 1}
FIT = {
    "name": "fit",
    "file": ["fit.py", "net.py"],
    "suite": "test_fit.py",
    "backend": "none",
    "points": 2,
    "builds_on": "ring",
    "stand_in": {"ring.py": "ours/ring.py"},
    "accepted_names": {"net.py": ["network.py"]},
}
RUBRIC = [{"points": 0.1, "asked": "a figure"}, {"points": 2.9, "asked": "why"}]
TIMES = {"name": "times", "file": "report.pdf", "points": 3, "rubric": RUBRIC}
RIGHT = {"parts": [RING, FIT], "manual": [TIMES], "support": ["images.py"]}


@pytest.fixture
def told(tmp_path):
    """Return what tells the disagreements of a file in the folder of an assignment."""
    for name in ("test_ring.py", "test_fit.py", "ours/ring.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return lambda data: list(disagreements(data, "it", tmp_path))


def test_what_agrees_is_not_told(told):
    """With the name of its folder or without; what is None or not there is not judged here."""
    assert told(RIGHT) == told({**RIGHT, "name": "it"}) == []
    assert told({}) == told({"name": None, "parts": None, "manual": None, "support": None}) == []
    nothing = {"parts": [{}, dict.fromkeys(RING), dict.fromkeys(FIT)], "manual": [{}, {}]}
    assert told(nothing) == []
    for rubric in (None, [], [{}], [{"points": None}]):
        assert told({"manual": [{**TIMES, "rubric": rubric}]}) == []


@pytest.mark.parametrize(
    ("path", "value", "mistake"),
    [
        (("name",), "that", 'name: found "that"; expected "it", the name of the folder'),
        (
            ("parts", 1, "name"),
            "ring",
            'parts[1].name: found "ring", which parts[0] already has; expected another name',
        ),
        (
            ("manual", 0, "name"),
            "fit",
            'manual.fit.name: found "fit", which parts.fit already has; expected another name',
        ),
        (
            ("parts", 1, "suite"),
            "test_ring.py",
            'parts.fit.suite: found "test_ring.py", which parts.ring already has; '
            "expected another suite",
        ),
        (
            ("parts", 0, "suite"),
            "test_rings.py",
            'parts.ring.suite: found "test_rings.py", which does not exist; expected '
            "a file in the assignment's folder. Did you mean test_ring.py?",
        ),
        (
            ("parts", 1, "stand_in", "ring.py"),
            "our/ring.py",
            'parts.fit.stand_in."ring.py": found "our/ring.py", which does not exist; '
            "expected a file in the assignment's folder. Did you mean ours/ring.py?",
        ),
        (
            ("parts", 0, "points"),
            0.1234567,
            "parts.ring.points: found 0.1234567; expected points with at most 6 decimals",
        ),
        (
            ("manual", 0, "points"),
            0.1234567,
            "manual.times.points: found 0.1234567; expected points with at most 6 decimals",
        ),
        (
            ("manual", 0, "rubric", 1, "points"),
            2,
            "manual.times.rubric: found 2.1 points in all; expected 3, as in manual.times.points",
        ),
        (
            ("manual", 0, "rubric"),
            [{"points": 3.0000001, "asked": "why"}],
            "manual.times.rubric[0].points: found 3.0000001; "
            "expected points with at most 6 decimals",
        ),
        (
            ("parts", 0, "hidden_points"),
            0.1234567,
            "parts.ring.hidden_points: found 0.1234567; expected points with at most 6 decimals",
        ),
        (
            ("parts", 0, "backend"),
            "mpi_script",
            'parts.ring.backend: found "mpi_script"; expected one of mpi, '
            "mpi-student, mpi-script, torch, torch-script, none. Did you mean mpi-script?",
        ),
        (
            ("parts", 1, "builds_on"),
            "rings",
            'parts.fit.builds_on: found "rings"; expected the name of another part. '
            "Did you mean ring?",
        ),
        (
            ("parts", 1, "builds_on"),
            "fit",
            'parts.fit.builds_on: found "fit"; expected the name of another part',
        ),
        (
            ("parts", 1, "stand_in"),
            {"rings.py": "ours/ring.py"},
            'parts.fit.stand_in."rings.py": found a file that ring does not name; '
            "expected one of ring.py. Did you mean ring.py?",
        ),
        (
            ("parts", 1, "accepted_names"),
            {"nets.py": ["1.py"]},
            'parts.fit.accepted_names."nets.py": found a file that the part does not name; '
            "expected one of fit.py, net.py. Did you mean net.py?",
        ),
        (
            ("parts", 1, "accepted_names", "net.py"),
            ["ring.py"],
            'parts.fit.accepted_names."net.py": found "ring.py", which already stands for '
            "another file; expected an unused name",
        ),
        (
            ("parts", 1, "accepted_names", "net.py"),
            ["images.py"],
            'parts.fit.accepted_names."net.py": found "images.py", which already stands for '
            "another file; expected an unused name",
        ),
        (
            ("parts", 1, "accepted_names", "fit.py"),
            ["network.py"],
            'parts.fit.accepted_names."fit.py": found "network.py", which already stands for '
            "another file; expected an unused name",
        ),
        (
            ("support",),
            ["fit.py"],
            'support: found "fit.py", which a part names; expected files that no part names',
        ),
    ],
)
def test_what_does_not_agree_is_told(told, path, value, mistake):
    """One sentence for one slip, with what was probably meant."""
    data = deepcopy(RIGHT)
    table = data
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    # Two parts of one name are no part to build on, either.
    assert told(data)[:1] == [mistake]


@pytest.mark.parametrize(
    ("left", "missing"), [("stand_in", "builds_on"), ("builds_on", "stand_in")]
)
def test_a_part_below_and_what_stands_in_for_it_go_together(told, left, missing):
    """Either alone would say nothing. One that is wrong by itself has been told of."""
    data = deepcopy(RIGHT)
    del data["parts"][1][missing]
    expected = f"parts.fit.{missing}: missing; {left} needs it"
    assert told(data) == [expected]
    data["parts"][1][missing] = None
    assert told(data) == []


def test_a_part_may_build_on_one_that_comes_later(told):
    """Sheets ask for what imports a file before they ask for the file."""
    assert told({**RIGHT, "parts": [FIT, RING]}) == []


@pytest.mark.parametrize("index", [0, 1])
def test_files_that_are_wrong_by_themselves_are_told_once(told, index):
    """Nothing that names one of them is blamed for it."""
    data = deepcopy(RIGHT)
    data["parts"][index]["file"] = None
    assert told(data) == []


def test_a_part_builds_on_one_that_builds_on_none(told):
    """A part is graded again once, with one stand-in."""
    last = {**FIT, "name": "last", "file": ["last.py"], "builds_on": "fit"}
    last |= {"stand_in": {"fit.py": "ours/ring.py"}, "accepted_names": {}}
    expected = "parts.last.builds_on: fit builds on another part; expected a part that does not"
    assert expected in told({**RIGHT, "parts": [RING, FIT, last]})
