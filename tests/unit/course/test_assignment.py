"""What is read from assignment.toml, and where the files lie that an assignment gives."""

from dataclasses import replace
from pathlib import Path

import pytest
from courses_of import courses_of

from grader.course.assignment import SHARED_SUPPORT
from grader.course.courses import bundled
from grader.model.errors import GraderError, UsageError

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
backend = "mpi"
points = 2.5
case_time_limit_s = 1

[[parts]]
name = "fit"
title = "Fit"
file = ["ring.py", "fit.py"]
accepted_names = { "ring.py" = ["1b.py", "2b.py"] }
entry = "f()"
suite = "test_fit.py"
backend = "none"
points = 0
case_time_limit_s = 1
"""


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    other = TOML.replace('"it"', '"other"').replace('"ring.py"', '"x.py"')
    for name, text in (("it", TOML), ("other", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "assignment.toml").write_text(text)
        for suite in ("test_ring.py", "test_fit.py"):
            (tmp_path / name / suite).touch()
    return tmp_path


def test_all_names_count_that_any_part_accepts(suites):
    """Each once, the asked one first."""
    found = courses_of(suites).assignment("it")
    assert found.handed_in == ("ring.py", "part1/main.py", "fit.py")
    assert found.accepted_names == {
        "ring.py": ("ring.py", "1b.py", "ring_allreduce.py", "2b.py"),
        "part1/main.py": ("part1/main.py",),
        "fit.py": ("fit.py",),
    }


def test_what_a_part_does_not_say_is_empty(suites):
    """Other names and rules are there when they are written down."""
    found = courses_of(suites).assignment("it")
    assert found.source == "a sheet"
    assert [part.rules for part in found.parts] == [("one neighbour",), ()]
    assert found.parts[0].accepted_names == {"ring.py": ("1b.py", "ring_allreduce.py")}


def test_wanted_are_the_files_of_all_assignments_or_of_one(suites):
    """They tell which folder of a submission counts."""
    own = {"ring.py", "1b.py", "ring_allreduce.py", "2b.py", "part1/main.py", "fit.py"}
    assert set(courses_of(suites).wanted("it")) == own
    assert set(courses_of(suites).wanted()) == own | {"x.py"}
    with pytest.raises(UsageError, match="unknown assignment 'none'; known assignments: it, other"):
        courses_of(suites).wanted("none")


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
    with pytest.raises(GraderError, match=r"it/assignment\.toml: "):
        courses_of(suites).assignment("it")


def test_support_files_lie_with_the_assignment_or_are_shared():
    """The assignment's own are found first; a missing one is the installation's failure."""
    mpi_sgd = bundled().load("mpi_sgd")
    paths = mpi_sgd.support_paths()
    assert paths["network.py"] == bundled().templates / "mpi_sgd" / "network.py"
    shared = ("images.py", "digits.csv.gz")
    assert mpi_sgd.shared_support() == {name: SHARED_SUPPORT / name for name in shared}
    assert not (bundled().references / "mpi_sgd" / "images.py").exists()
    elsewhere = replace(mpi_sgd, template=Path("none"), support=("images.py",))
    assert elsewhere.support_paths() == {"images.py": SHARED_SUPPORT / "images.py"}
    with pytest.raises(GraderError, match=r"the support file none\.py of mpi_sgd is not installed"):
        replace(mpi_sgd, support=("none.py",)).support_paths()


def test_probes_are_one_file_or_a_package(suites):
    """Each module by its name, what is the package itself first; bytecode is none of them."""
    found, folder = courses_of(suites).assignment("it"), suites / "it"
    (folder / "probes.py").write_text("one")
    assert found.probe_sources() == {"__init__": "one"}
    (folder / "probes.py").rename(folder / "moved")
    (folder / "probes" / "__pycache__").mkdir(parents=True)
    for name in ("training", "__init__", "Arrays"):
        (folder / "probes" / f"{name}.py").write_text(f"text of {name}")
    assert list(found.probe_sources().items()) == [
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
    told = f"it must have either probes.py, or probes/__init__.py .* found {found} in "
    with pytest.raises(GraderError, match=told):
        courses_of(suites).assignment("it").probe_sources()
