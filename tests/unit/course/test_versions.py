"""The digests of what graded: whatever decides a mark changes one, and nothing else does."""

import contextlib
import re
import shutil

import pytest

from grader.course import assignment, versions
from grader.course.course import Course
from grader.course.courses import bundled

SUPPORT = [(each.name, file) for each in bundled().assignments() for file in each.support]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Return a copy of all that is installed, which the digests are made of; leave it as it is."""
    root, copy = bundled().root, tmp_path_factory.mktemp("installed")
    for folder in ("grader", "tests/suites", "student_template", "reference"):
        shutil.copytree(
            root / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    shutil.copy(root / "course.toml", copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "SHARED_SUPPORT", copy / "grader/course/support")
        yield copy


@contextlib.contextmanager
def holding(contents):
    """Have files hold something else for a while."""
    before = {path: path.read_bytes() for path in contents if path.exists()}
    try:
        for path, content in contents.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        yield
    finally:
        for path in contents:
            if path in before:
                path.write_bytes(before[path])
            else:
                path.unlink()


def digests(root):
    """Return those of engine and course."""
    return versions.engine_digest(root / "grader"), Course.read(root).digest()


def digests_holding(root, contents):
    with holding(contents):
        return digests(root)


@pytest.mark.parametrize(("name", "file"), SUPPORT)
def test_each_file_that_ranks_are_given_is_in_the_courses_digest(root, name, file):
    """Support files run in the ranks: one that is changed may change every mark."""
    course = Course.read(root)
    before = course.digest()
    path = course.load(name).support_paths()[file]
    with holding({path: path.read_bytes() + b"\n# changed\n"}):
        assert course.digest() != before


@pytest.mark.parametrize(
    ("file", "is_engine"),
    [
        ("grader/judge/values/array_comparison.py", True),
        ("grader/rank/harness.py", True),
        ("grader/observe/interposer/sources/guard.c", True),
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
    after = digests_holding(root, {path: (path.read_bytes() if path.exists() else b"") + b"\n"})
    assert (after[0] != before[0], after[1] != before[1]) == (is_engine, not is_engine)


def test_a_support_file_is_known_by_its_name(root):
    """Two that change places are two changed files."""
    one, other = (root / "student_template/mpi_sgd" / name for name in ("utils.py", "collect.py"))
    exchanged = {one: other.read_bytes(), other: one.read_bytes()}
    assert digests_holding(root, exchanged) != digests(root)


def test_what_decides_no_mark_is_in_no_digest(root):
    """The image without solutions has the digests of a checkout, if it has all tests."""
    before = digests(root)
    made = {
        root / folder / name: b""
        for folder in ("grader", "tests/suites/mpi_sgd")
        for name in ("__pycache__/a.cpython-311.pyc", ".cache/a.json")
    }
    made[root / "student_template/mpi_sgd/my_ring_allreduce.py"] = b""
    made[root / "grader/observe/interposer/sources.so"] = b""
    (root / "reference").rename(root / "away")
    try:
        assert digests_holding(root, made) == before
    finally:
        (root / "away").rename(root / "reference")


def test_a_broken_assignment_has_a_digest_as_well(root):
    """Nobody is graded by it, and the others are graded all the same."""
    broken = {root / "tests/suites/vgg_ddp/assignment.toml": b"title = "}
    assert digests_holding(root, broken) != digests(root)


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


def test_packages_that_do_not_grade_change_no_digest(tmp_path, monkeypatch):
    lock = tmp_path / "requirements.lock"
    monkeypatch.setattr(versions, "lock_file", lambda: lock)
    grading = "numpy==2.0 \\\n    --hash=sha256:0\n"
    digests = []
    for more in ("", "ruff==1 ; extra == 'dev' \\\n    --hash=sha256:1\n", "torch==2\n"):
        lock.write_text(grading + more)
        digests.append(versions.lock_digest())
    assert digests[0] == digests[1] != digests[2]
