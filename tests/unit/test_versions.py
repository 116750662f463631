"""The digests of what graded: whatever decides a mark changes one, and nothing else does."""

import re
import shutil

import pytest

from grader import assignment, versions
from grader.course import Course
from grader.courses import bundled

SUPPORT = [(each.name, file) for each in bundled().assignments() for file in each.support]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Return a copy of all that is installed, which is what the digests are made of from now on."""
    root = bundled().root
    for folder in ("grader", "tests/suites", "student_template", "reference"):
        shutil.copytree(
            root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    shutil.copy(root / "course.toml", tmp_path)
    monkeypatch.setattr(versions, "_PACKAGE", tmp_path / "grader")
    monkeypatch.setattr(assignment, "SHARED_SUPPORT", tmp_path / "grader/support")
    return tmp_path


def digests(root):
    """Return those of engine and course."""
    found = versions.versions(Course.read(root))
    return found.engine_digest, found.course_digest


@pytest.mark.parametrize(("name", "file"), SUPPORT)
def test_each_file_that_ranks_are_given_is_in_the_courses_digest(root, name, file):
    """Support files run in the ranks: one that is changed may change every mark."""
    _, before = digests(root)
    path = Course.read(root).load(name).support_paths()[file]
    path.write_bytes(path.read_bytes() + b"\n# changed\n")
    assert digests(root)[1] != before


@pytest.mark.parametrize(
    ("file", "is_engine"),
    [
        ("grader/judge/values.py", True),
        ("grader/rank/harness.py", True),
        ("grader/trace/interposer/guard.c", True),
        ("tests/suites/mpi_sgd/assignment.toml", False),
        ("tests/suites/mpi_sgd/stand_ins/my_ring_allreduce.py", False),
        ("tests/suites/mpi_sgd/weights.npz", False),
        ("course.toml", False),
    ],
)
def test_sources_and_suites_are_in_a_digest_each(root, file, is_engine):
    """Of any kind: a suite may come with data of its own. A course does not change the engine."""
    before = digests(root)
    path = root / file
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b"\n")
    after = digests(root)
    assert (after[0] != before[0], after[1] != before[1]) == (is_engine, not is_engine)


def test_a_support_file_is_known_by_its_name(root):
    """Two that change places are two changed files."""
    before = digests(root)
    one, other = (root / "student_template/mpi_sgd" / name for name in ("utils.py", "collect.py"))
    one_text, other_text = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_text)
    other.write_bytes(one_text)
    assert digests(root) != before


def test_what_decides_no_mark_is_in_no_digest(root):
    """The image without solutions has the digests of a checkout, if it has all tests."""
    before = digests(root)
    shutil.rmtree(root / "reference")
    (root / "student_template/mpi_sgd/my_ring_allreduce.py").write_text("")
    for folder in ("grader", "tests/suites/mpi_sgd"):
        (root / folder / "__pycache__").mkdir()
        (root / folder / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"")
        (root / folder / ".cache").mkdir()
        (root / folder / ".cache" / "a.json").write_bytes(b"")
    (root / "grader/trace/interposer.so").write_bytes(b"")
    assert digests(root) == before


def test_a_broken_assignment_has_a_digest_as_well(root):
    """Nobody is graded by it, and the others are graded all the same."""
    before = digests(root)
    (root / "tests/suites/vgg_ddp/assignment.toml").write_text("title = ")
    assert digests(root) != before


def test_course_and_interpreter_are_named(root):
    """The same sources may mean other things to another Python."""
    found = versions.versions(Course.read(root))
    assert found.course == "systems-for-ml"
    assert found.packages["python"].startswith("3.")


def test_what_no_lock_holds_is_named_as_well(monkeypatch):
    """The libraries that come with the distribution of an image."""
    found = versions.packages()
    assert re.fullmatch(r"[a-z]+ [\d.]+|unknown", found["libc"])
    assert re.fullmatch(r"\d+\.\d+\.\d+|not installed", found["libseccomp"])

    def load(name):
        raise OSError(name)

    monkeypatch.setattr(versions.ctypes, "CDLL", load)
    assert versions.packages()["libseccomp"] == "not installed"
