"""What is read from assignment.toml, and where the files lie that an assignment gives."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader import assignment as assignments
from grader.errors import GraderError, UsageError
from grader.home import REFERENCES, SHARED_SUPPORT, SUITES, TEMPLATES

TOML = """
name = "it"
title = "All of it"
source = "a sheet"
support = ["images.py"]

[[parts]]
name = "ring"
title = "Ring"
file = ["ring.py", "part1/main.py"]
accepted_names = { "ring.py" = ["1b.py", "ring_allreduce.py"] }
rules = ["one neighbour"]
entry = "f()"
suite = "test_ring.py"
world = "mpi"
points = 2.5
case_time_limit_s = 1

[[parts]]
name = "fit"
title = "Fit"
file = ["ring.py", "fit.py"]
accepted_names = { "ring.py" = ["1b.py", "2b.py"] }
entry = "f()"
suite = "test_fit.py"
world = "alone"
points = 0
case_time_limit_s = 1
"""


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "assignment.toml").write_text(TOML)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "assignment.toml").write_text(TOML.replace('"ring.py"', '"x.py"'))
    return tmp_path


def test_all_names_count_that_any_part_accepts(suites):
    """Each once, the asked one first."""
    found = assignments.load("it", suites)
    assert found.handed_in == ("ring.py", "part1/main.py", "fit.py")
    assert found.accepted_names == {
        "ring.py": ("ring.py", "1b.py", "ring_allreduce.py", "2b.py"),
        "part1/main.py": ("part1/main.py",),
        "fit.py": ("fit.py",),
    }


def test_what_a_part_does_not_say_is_empty(suites):
    """Other names and rules are there when they are written down."""
    found = assignments.load("it", suites)
    assert found.source == "a sheet"
    assert [part.rules for part in found.parts] == [("one neighbour",), ()]
    assert found.parts[0].accepted_names == {"ring.py": ("1b.py", "ring_allreduce.py")}


def test_wanted_are_the_files_of_all_assignments_or_of_one(suites):
    """They tell which folder of a submission counts."""
    own = {"ring.py", "1b.py", "ring_allreduce.py", "2b.py", "part1/main.py", "fit.py"}
    assert set(assignments.wanted(suites, "it")) == own
    assert set(assignments.wanted(suites)) == own | {"x.py"}
    with pytest.raises(UsageError, match="unknown assignment 'none'; known are: it, other"):
        assignments.wanted(suites, "none")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = "All of it"\n', ""),
        ("points = 2.5\n", ""),
        ('"ring.py" = ["1b.py", "2b.py"]', '"other.py" = ["1b.py"]'),
        ("[[parts]]", "[parts"),
    ],
)
def test_a_file_that_is_not_right_is_the_graders_failure(suites, old, new):
    """The course's slip is no student's zero."""
    file = suites / "it" / "assignment.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(GraderError, match=r"assignment\.toml of it is not right"):
        assignments.load("it", suites)


def test_support_files_lie_with_the_assignment_or_are_shared():
    """The assignment's own are found first; a missing one is the installation's failure."""
    mpi_sgd = assignments.load("mpi_sgd", SUITES)
    paths = assignments.support_paths(mpi_sgd)
    assert paths["network.py"] == TEMPLATES / "mpi_sgd" / "network.py"
    assert assignments.shared_support(mpi_sgd) == {"images.py": SHARED_SUPPORT / "images.py"}
    assert not (REFERENCES / "mpi_sgd" / "images.py").exists()
    elsewhere = replace(mpi_sgd, name="without_a_template", support=("images.py",))
    assert assignments.support_paths(elsewhere) == {"images.py": SHARED_SUPPORT / "images.py"}
    with pytest.raises(GraderError, match=r"the support file none\.py of mpi_sgd is not installed"):
        assignments.support_paths(replace(mpi_sgd, support=("none.py",)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x82", id="no_text_at_all"),
        b"[" * 5000,
        b"x = " + b"[" * 5000,
        b"parts = 3",
        b"title = 3\nparts = []",
        b"title = 'x'\nparts = 'abc'",
        b"title = 'x'\nparts = []\nsupport = 'images.py'",
        b"title = 'x'\nparts = []\nmanual = [3]",
        TOML.replace("points = 2.5", "points = 'all'").encode(),
        TOML.replace("points = 2.5", "points = nan").encode(),
        TOML.replace("points = 2.5", "points = -1").encode(),
        TOML.replace("points = 2.5", "points = true").encode(),
        TOML.replace('file = ["ring.py", "part1/main.py"]', 'file = "ring.py"').encode(),
        TOML.replace('{ "ring.py" = ["1b.py", "2b.py"] }', '["1b.py"]').encode(),
        TOML.replace('{ "ring.py" = ["1b.py", "2b.py"] }', '{ "ring.py" = "1b.py" }').encode(),
    ],
)
def test_a_file_that_is_not_right_is_one_sentence(suites, content):
    """Whatever an instructor has typed."""
    (suites / "it" / "assignment.toml").write_bytes(content)
    with pytest.raises(GraderError, match=r"assignment\.toml of it is not right") as error:
        assignments.load("it", suites)
    assert "\n" not in str(error.value)


def test_probes_are_one_file_or_a_package(suites):
    """Each module by its name, what is the package itself first; bytecode is none of them."""
    found, folder = assignments.load("it", suites), suites / "it"
    (folder / "probes.py").write_text("one")
    assert assignments.probe_sources(found) == {"__init__": "one"}
    (folder / "probes.py").rename(folder / "moved")
    (folder / "probes" / "__pycache__").mkdir(parents=True)
    for name in ("training", "__init__", "Arrays"):
        (folder / "probes" / f"{name}.py").write_text(f"text of {name}")
    assert list(assignments.probe_sources(found).items()) == [
        (name, f"text of {name}") for name in ("__init__", "Arrays", "training")
    ]


@pytest.mark.parametrize(
    ("files", "found"),
    [((), "neither"), (("probes.py", "probes/__init__.py"), "both"), (("probes/x.py",), "neither")],
)
def test_probes_that_are_not_one_of_the_two_are_told(suites, files, found):
    """With what they are to be."""
    for file in files:
        (suites / "it" / file).parent.mkdir(exist_ok=True)
        (suites / "it" / file).touch()
    told = f"it has its probes either in probes.py or in probes/__init__.py .* found {found} in "
    with pytest.raises(GraderError, match=told):
        assignments.probe_sources(assignments.load("it", suites))
