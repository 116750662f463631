"""The digest of what graded: whatever decides a mark changes it, and nothing else does."""

import shutil

import pytest

from grader import assignment as assignments
from grader import versions
from grader.home import ROOT, SUITES

ASSIGNMENTS = assignments.names(SUITES)
SUPPORT = [
    (name, file)
    for name in ASSIGNMENTS
    for file in assignments.support_paths(assignments.load(name, SUITES))
]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a copy of all that is installed, which is what the digest is made of from now on."""
    for folder in ("grader", "tests/suites", "student_template", "reference"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    for module, name, folder in [
        (versions, "ROOT", "."),
        (versions, "SUITES", "tests/suites"),
        (assignments, "TEMPLATES", "student_template"),
        (assignments, "REFERENCES", "reference"),
        (assignments, "SHARED_SUPPORT", "grader/support"),
    ]:
        monkeypatch.setattr(module, name, tmp_path / folder, raising=False)
    return tmp_path


@pytest.mark.parametrize(("assignment", "file"), SUPPORT)
def test_each_file_that_ranks_are_given_is_in_the_digest(root, assignment, file):
    """Support files run in the ranks: one that is changed may change every mark."""
    before = versions.source_digest()
    path = assignments.support_paths(assignments.load(assignment, root / "tests/suites"))[file]
    path.write_bytes(path.read_bytes() + b"\n# changed\n")
    assert versions.source_digest() != before


@pytest.mark.parametrize(
    "file",
    [
        "grader/judge/values.py",
        "grader/rank/harness.py",
        "grader/trace/interposer/guard.c",
        "tests/suites/mpi_sgd/assignment.toml",
        "tests/suites/mpi_sgd/stand_ins/my_ring_allreduce.py",
        "tests/suites/mpi_sgd/weights.npz",
    ],
)
def test_sources_and_suites_are_in_the_digest(root, file):
    """Of any kind: a suite may come with data of its own."""
    before = versions.source_digest()
    path = root / file
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b"\n")
    assert versions.source_digest() != before


def test_a_support_file_is_known_by_its_name(root):
    """Two that change places are two changed files."""
    before = versions.source_digest()
    one, other = (root / "student_template/mpi_sgd" / name for name in ("utils.py", "collect.py"))
    one_text, other_text = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_text)
    other.write_bytes(one_text)
    assert versions.source_digest() != before


def test_what_decides_no_mark_is_not_in_the_digest(root):
    """The image without solutions has the digest of a checkout, if it has all tests."""
    before = versions.source_digest()
    shutil.rmtree(root / "reference")
    (root / "student_template/mpi_sgd/my_ring_allreduce.py").write_text("")
    for folder in ("grader", "tests/suites/mpi_sgd"):
        (root / folder / "__pycache__").mkdir()
        (root / folder / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"")
        (root / folder / ".cache").mkdir()
        (root / folder / ".cache" / "a.json").write_bytes(b"")
    (root / "grader/trace/interposer.so").write_bytes(b"")
    assert versions.source_digest() == before


def test_a_broken_assignment_has_a_digest_as_well(root):
    """Nobody is graded by it, and the others are graded all the same."""
    before = versions.source_digest()
    (root / "tests/suites/vgg_ddp/assignment.toml").write_text("title = ")
    assert versions.source_digest() != before


def test_the_interpreter_is_named():
    """The same sources may mean other things to another Python."""
    assert versions.versions().packages["python"].startswith("3.")
