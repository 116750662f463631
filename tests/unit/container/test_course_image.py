"""What an edition of a course holds: that for students has no solutions and no hidden tests."""

from pathlib import PurePosixPath

from grader.authoring import skeleton
from grader.course import Course
from grader.edition import edition


def test_students_get_templates_whole_and_suites_without_hidden_ones(tmp_path):
    """A network of a template may well have a hidden layer."""
    skeleton.write(tmp_path, "sums")
    (tmp_path / "tests/suites/sums/hidden_cases").mkdir()
    for file in ("hidden_sum.py", "hidden_cases/numbers.toml"):
        (tmp_path / "tests/suites/sums" / file).touch()
    (tmp_path / "student_template/sums/hidden_layer.py").touch()
    course = Course.read(tmp_path)
    whole, given = (edition(course, is_for_students=each) for each in (False, True))
    assert {str(path) for path in whole.keys() - given.keys()} == {
        "reference/sums/HANDOUT.md",
        "reference/sums/my_sum.py",
        "tests/suites/sums/hidden_sum.py",
        "tests/suites/sums/hidden_cases/numbers.toml",
    }
    assert PurePosixPath("student_template/sums/hidden_layer.py") in given
    assert not any("submissions" in path.parts for path in whole)
