"""A course is any folder with a course.toml; several are looked through together."""

import argparse
import os
import shutil

import pytest

from grader import __version__, cli
from grader.commands.arguments import parser
from grader.commands.context import courses_of
from grader.course import courses
from grader.course.course import Course
from grader.course.courses import bundled, bundled_root, find_courses
from grader.intake.placement.recognition import recognise
from grader.intake.submission import Submission
from grader.model.errors import GraderError, UsageError

TOML = 'name = "{name}"\ntitle = "A course"\nengine = ">=0"\n'


@pytest.fixture
def make(tmp_path):
    """Make a course that has the bundled assignments of these names."""

    def make(name, *assignments):
        root = tmp_path / name
        (root / "tests/suites").mkdir(parents=True)
        (root / "course.toml").write_text(TOML.format(name=name))
        for each in assignments:
            shutil.copytree(bundled().suites / each, root / "tests/suites" / each)
        return root

    return make


def test_where_the_folders_of_a_course_lie(make):
    root = make("mine")
    found = Course.read(root)
    assert (found.name, found.title) == ("mine", "A course")
    assert found.suites == root / "tests/suites"
    assert found.references == root / "reference"


def test_a_course_says_how_much_is_told_where_a_part_does_not(make):
    root = make("mine", "mpi_sgd")
    file = root / "course.toml"
    file.write_text(file.read_text() + 'feedback = "values"\nhidden_feedback = "sentence"\n')
    own = root / "tests/suites/mpi_sgd/assignment.toml"
    first = "case_time_limit_s"
    own.write_text(own.read_text().replace(first, f'feedback = "verdict"\n{first}', 1))
    parts = Course.read(root).load("mpi_sgd").parts
    assert [part.feedback for part in parts] == ["verdict", *["values"] * (len(parts) - 1)]
    assert {part.hidden_feedback for part in parts} == {"sentence"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title", "titel", "titel: unknown key; .* Did you mean title.*title: missing"),
        ('"A course"', "3", "title: found 3; expected a string of one line"),
        ('">=0"', '"0 to 1"', 'engine: found "0 to 1"; expected a range such as'),
        ('">=0"', '">=0"\nfeedback = "much"', 'feedback: found "much"; expected one of verdict'),
        ('">=0"', '">=99"', f'found ">=99", but this engine is {__version__}'),
        ('name = "', 'name = "\n', r"course\.toml: is not valid TOML: .*line 1"),
    ],
)
def test_a_course_file_that_is_not_right_is_the_graders_failure(make, old, new, told):
    """All that is wrong with it is said at once."""
    file = make("mine") / "course.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(GraderError, match=f"(?s){told}"):
        Course.read(file.parent)


def test_a_folder_that_is_no_course_is_named(tmp_path):
    with pytest.raises(
        UsageError, match=r"is not a course: expected .* course\.toml, but it has no such file"
    ):
        Course.read(tmp_path)
    with pytest.raises(UsageError, match="but the path is not a folder; name another folder"):
        Course.read(tmp_path / "none")


def test_an_unknown_assignment_is_told_with_those_there_are(make):
    course = Course.read(make("mine", "mpi_sgd"))
    assert [each.name for each in course.assignments()] == ["mpi_sgd"]
    assert course.assignments()[0].course == "mine"
    with pytest.raises(
        UsageError, match=r"'mpi_sdg'; known assignments: .* Did you mean mpi_sgd\?"
    ):
        course.load("mpi_sdg")


def test_the_course_around_a_file_is_the_nearest(make):
    """A suite that is run openly says by its place which course it belongs to."""
    root = make("mine", "mpi_sgd")
    assert Course.around(root / "tests/suites/mpi_sgd").name == "mine"
    assert Course.around(bundled().suites / "mpi_sgd").name == bundled().name
    with pytest.raises(UsageError, match="is not in a course"):
        Course.around(root.parent / "elsewhere")


def test_named_courses_come_before_the_bundled_one(make):
    """The option replaces the variable; the bundled course is always there."""
    one, other = make("one"), make("other")
    environment = {"GRADER_COURSE": f"{one}{os.pathsep}{other}"}
    own = bundled().name
    assert [each.name for each in find_courses((), environment).courses] == ["one", "other", own]
    assert [each.name for each in find_courses([other], environment).courses] == ["other", own]
    assert [each.name for each in find_courses((), {}).courses] == [own]
    assert [each.root for each in find_courses([bundled_root()], {}).courses] == [bundled_root()]


def test_a_course_takes_the_place_of_a_bundled_one_of_its_name(make):
    """Who changes a copy of it wants to be graded by the copy."""
    copy = make(bundled().name, "mpi_sgd")
    (found,) = find_courses([copy], {}).courses
    assert found.root == copy


def test_two_named_courses_of_one_name_are_refused(make, tmp_path):
    one = make("one")
    shutil.copytree(one, tmp_path / "copy")
    with pytest.raises(UsageError, match="are both called 'one'; rename one of them"):
        find_courses([one, tmp_path / "copy"], {})


def test_without_any_course_it_is_said_how_to_name_one(monkeypatch):
    monkeypatch.setattr(courses, "bundled_root", lambda: None)
    with pytest.raises(GraderError, match="no course is installed: name a course's folder with"):
        find_courses((), {})
    assert find_courses((), {}, requires_one=False).courses == ()
    with pytest.raises(GraderError, match="this installation has no course"):
        bundled()


def test_an_engine_without_a_course_has_versions(monkeypatch, capsys):
    """It grades nothing yet, and can be told from others."""
    monkeypatch.setattr(courses, "bundled_root", lambda: None)
    monkeypatch.delenv(courses.VARIABLE, raising=False)
    assert cli.run(["--version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("grade ") and not any(line.startswith("course ") for line in lines)


def test_an_assignment_of_two_courses_is_named_with_its_course(make):
    """Nobody is graded by the wrong one of the two."""
    found = find_courses([make("mine", "mpi_sgd")], {})
    assert {"mine/mpi_sgd", f"{bundled().name}/mpi_sgd", "federated"} <= set(found.names())
    assert found.assignment("mine/mpi_sgd").course == "mine"
    assert found.assignment("federated").course == bundled().name
    assert found.of(found.assignment("mine/mpi_sgd")).name == "mine"
    assert found.assignment("mpi_sgd", "mine").course == "mine"
    assert found.assignment("federated", "mine").course == bundled().name
    with pytest.raises(UsageError, match="name one: mine/mpi_sgd or systems-for-ml/mpi_sgd"):
        found.assignment("mpi_sgd")
    with pytest.raises(UsageError, match="unknown assignment 'mine/federated'"):
        found.assignment("mine/federated")


def test_wanted_are_the_files_of_all_courses(make):
    """They tell which folder of a submission counts."""
    root = make("mine", "mpi_sgd")
    file = root / "tests/suites/mpi_sgd/assignment.toml"
    file.write_text(file.read_text().replace("my_naive_allreduce.py", "my_own_sum.py"))
    found = find_courses([root], {})
    assert {"my_own_sum.py", "my_naive_allreduce.py"} <= set(found.wanted())
    assert "my_naive_allreduce.py" not in found.wanted("mine/mpi_sgd")


def test_two_courses_with_one_assignment_are_told_apart_by_files(make):
    """Each file counts for its own; where all are the same, both are named in full."""
    root = make("mine", "mpi_sgd")
    known = find_courses([root], {}).assignments()
    handed_in = Submission("it", {"my_naive_allreduce.py": b""}, "d")
    with pytest.raises(UsageError, match="name one with --assignment mine/mpi_sgd"):
        recognise(handed_in, known)
    file = root / "tests/suites/mpi_sgd/assignment.toml"
    file.write_text(file.read_text().replace("my_naive_allreduce.py", "my_own_sum.py"))
    known = find_courses([root], {}).assignments()
    assert recognise(handed_in, known).course == bundled().name
    assert recognise(Submission("it", {"my_own_sum.py": b""}, "d"), known).course == "mine"


def test_a_draft_beside_it_keeps_nobody_from_being_graded(make):
    root = make("mine", "mpi_sgd", "federated")
    (root / "tests/suites/federated/assignment.toml").write_text("title = ")
    found = find_courses([root], {})
    assert found.assignment("mine/mpi_sgd").name == "mpi_sgd"
    assert "mine" in {each.course for each in found.readable()}
    with pytest.raises(GraderError, match="is not valid TOML"):
        found.assignments()


def test_courses_count_before_the_command_and_after_it(make):
    one, other = make("one"), make("other")
    arguments = ["--course", str(one), "list", "--course", str(other)]
    options = parser(argparse.Action).parse_args(arguments)
    assert [course.name for course in courses_of(options).courses[:2]] == ["one", "other"]
