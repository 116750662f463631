"""A new assignment is written where the course has its own, under a name that can be one."""

import pytest

from grader.addons.authoring import skeleton
from grader.course.course import Course
from grader.model.errors import UsageError


def test_a_folder_becomes_a_course_of_its_name(tmp_path):
    """And holds an assignment that can be read."""
    root = tmp_path / "CS 336"
    written = skeleton.write(root, "halo_exchange")
    course = Course.read(root)
    assert (course.name, course.names()) == ("cs-336", ["halo_exchange"])
    assert course.load("halo_exchange").parts[0].name == "sum"
    assert all(path.is_file() for path in written)
    assert (
        "assignment halo_exchange" in (root / "tests/suites/halo_exchange/__init__.py").read_text()
    )


def test_a_second_one_keeps_the_first(tmp_path):
    skeleton.write(tmp_path, "one")
    text = (tmp_path / "course.toml").read_text()
    skeleton.write(tmp_path, "two")
    assert (tmp_path / "course.toml").read_text() == text
    assert Course.read(tmp_path).names() == ["one", "two"]
    with pytest.raises(UsageError, match="exists already: choose another name"):
        skeleton.write(tmp_path, "two")


@pytest.mark.parametrize(
    "name", ["Rings", "halo-exchange", "hidden_sums", "class", "json", "_x", "\u00e9t\u00e9", ""]
)
def test_a_name_that_cannot_be_one_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="is not a valid assignment name: expected lower-case"):
        skeleton.write(tmp_path, name)
    assert not list(tmp_path.iterdir())
