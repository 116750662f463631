"""What an edition of a course holds: that for students has no solutions and no hidden tests."""

from pathlib import PurePosixPath

import pytest

from grader.addons.authoring import skeleton
from grader.course.course import Course
from grader.course.edition import edition
from grader.model.errors import GraderError


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


def test_students_get_the_files_that_are_listed_and_others_in_their_place(tmp_path):
    """A file that is listed and is not there is told."""
    skeleton.write(tmp_path, "sums")
    folder = tmp_path / "tests/suites/sums"
    file, text = folder / "assignment.toml", (folder / "assignment.toml").read_text()
    file.write_text(f'students = ["probes.py", "test_sum.py", "told.py"]\n{text}')
    names = ["closed_forms.py", "students/probes.py", "students/told.py", "hidden_sum.py"]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    course = Course.read(tmp_path)
    root = PurePosixPath("tests/suites/sums")
    given = edition(course, is_for_students=True)
    assert {each.name: path for each, path in given.items() if root in each.parents} == {
        "assignment.toml": file,
        "probes.py": folder / "students/probes.py",
        "test_sum.py": folder / "test_sum.py",
        "told.py": folder / "students/told.py",
    }
    assert root / "closed_forms.py" in edition(course, is_for_students=False)
    file.write_text(f'students = ["probe.py"]\n{text}')
    with pytest.raises(GraderError, match=r'students\[0\]: found "probe.py", which does not exist'):
        course.assignments()
    file.write_text(f'students = ["hidden_sum.py"]\n{text}')
    with pytest.raises(GraderError, match="which is hidden"):
        edition(course, is_for_students=True)
