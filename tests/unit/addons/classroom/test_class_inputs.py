"""What the command `class` reads: no name that a student chooses makes a hand-in another's."""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from class_samples import NAMES, grading, not_read

from grader.addons.classroom import class_inputs
from grader.addons.classroom.class_inputs import ClassFile, class_file_mistakes
from grader.addons.classroom.marking import Questions
from grader.addons.classroom.standing import Rules, Work, standings
from grader.addons.classroom.tables import read_settings
from grader.course.course import Course
from grader.course.courses import Courses
from grader.model.errors import UsageError
from grader.sealed.container import docker_engine

ROSTER = "id,name,moodle,canvas\nann,Ann Lee,101,201\neve,Eve Evil,7,999\n"
SETTINGS = 'deadline = 2026-11-20T23:59:00\nroster = "roster.csv"\n[late]\nper_day = 0.5\n'
AT = "_attempt_2026-11-2"
FINALS = {
    # In time by Blackboard's clock, two days late, and late by a time in the name of a file.
    "blackboard": {
        f"HW 3_ann{AT}0-12-00-00_hw.zip": ("ann", 5),
        f"HW 3_eve{AT}1-12-00-00_x_eve{AT}0-12-00-00_hw.zip": ("eve", 2.5),
    },
    "canvas": {
        "leeann_201_77_hw.zip": ("ann", 5),
        f"evileve_999_78_x_ann{AT}0-13-00-00_hw.zip": ("eve", 5),
    },
    "moodle": {
        "Ann Lee_101_assignsubmission_file_hw.zip": ("ann", 5),
        "Eve Evil_7_assignsubmission_file_x_101_assignsubmission_file_y.zip": ("eve", None),
    },
}


def read(tmp_path, text, names, roster=ROSTER):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "class.toml").write_text(text)
    (folder / "roster.csv").write_text(roster)
    for name in names:
        (folder / name).write_bytes(b"PK" + name.encode())
    options = argparse.Namespace(folder=folder, config=None, assignment=None, course_before=[])
    return class_inputs.read(options, tmp_path / "out")


@pytest.mark.parametrize("platform", FINALS)
def test_each_has_the_own_hand_in_and_the_own_time(tmp_path, platform):
    """And whose name reads two ways has no mark, and no zero, before a person has looked."""
    title = 'platform_assignment = "HW 3"\n' if platform == "blackboard" else ""
    text = f'platform = "{platform}"\n{title}{SETTINGS}'
    inputs = read(tmp_path, text, FINALS[platform])
    works = [*(Work(each, grading()) for each in inputs.hand_ins), *not_read(*inputs.unreadable)]
    rules = Rules(inputs.roster, {}, inputs.said.policy, Questions(), NAMES)
    found, _ = standings(works, rules)
    assert {(each.student.id, each.final) for each in found} == {*FINALS[platform].values()}


def test_times_are_those_of_the_number_in_moodles_table(tmp_path):
    """Whatever a student is called there."""
    head = "Identifier,Full name,Last modified (submission)"
    days = ((101, "Ann Lee", 19), (7, "E_101_assignsubmission_file_x", 25))
    lines = [
        f'Participant {number},{name},"Friday, {day} November 2026, 11:58 PM"'
        for number, name, day in days
    ]
    (tmp_path / "times.csv").write_text("\n".join([head, *lines]) + "\n")
    names = [f"{name}_assignsubmission_file_x.zip" for name in ("Ann Lee_101", "Eve Evil_7")]
    text = f'platform = "moodle"\ntimes = "../times.csv"\n{SETTINGS}'
    inputs = read(tmp_path, text, names)
    assert inputs.unknown_times == []
    assert {each.who["moodle"]: each.submitted_at for each in inputs.hand_ins} == {
        str(number): datetime(2026, 11, day, 23, 58, tzinfo=UTC) for number, _, day in days
    }


def test_a_platform_must_be_declared_before_anything_is_graded(tmp_path):
    with pytest.raises(UsageError, match=r'platform = "moodle" in class\.toml'):
        read(tmp_path, SETTINGS, [*FINALS["moodle"], "bo.zip"])


PARTS = 'assignment = "mpi_sgd"\nparts = ["naive_allreduce", "allreduce_times"]\n'


def test_a_class_is_set_some_parts(tmp_path):
    """What else the assignment has is neither graded nor asked."""
    inputs = read(tmp_path, f'{PARTS}not_handed_in = "zero"\n', ["ann.zip"])
    options = argparse.Namespace(unsealed=True, data=None, course_before=[], judge_again=False)
    found = class_inputs.grading_options(options, inputs)
    assert found[2:] == ["--part", "naive_allreduce", "--part", "allreduce_times"]
    questions = inputs.questions
    assert (questions.max_points, questions.missing_is_zero) == (18.0, True)
    assert questions.files["allreduce_times"] == "report.pdf"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            PARTS.replace("naive_", "native_"),
            "parts: mpi_sgd has no part .* Did you mean naive_all",
        ),
        ('parts = ["ring"]\n', "parts: no effect without an assignment"),
        ('teams = { blue = ["ann"] }\n', "teams: no effect without a roster"),
        (
            f'{SETTINGS}[teams]\nblue = ["anne"]\n',
            "teams.blue has 'anne', which is not an id .* ann?",
        ),
        ("marks = 3\n", "marks: found 3; expected a file name, or a list of file names"),
        ('not_handed_in = "none"\n', 'not_handed_in: found "none"; expected person or zero'),
    ],
)
def test_a_mistake_in_class_toml_is_told_before_anything_is_graded(tmp_path, text, told):
    with pytest.raises(UsageError, match=told):
        read(tmp_path, text, ["ann.zip"])


def test_what_an_image_graded_is_kept_whatever_lies_beside_it(tmp_path, monkeypatch):
    """The image has its own engine and course; another checkout is no reason to grade again."""
    image = type("Image", (), {"image_id": lambda self, name: "sha256:1"})()
    monkeypatch.setattr(docker_engine.DockerEngine, "connect", lambda: image)
    inputs = read(tmp_path, PARTS, ["ann.zip"])
    given = {"data": None, "course_before": [], "judge_again": False, "image": "grade"}
    keys = {}
    for unsealed in (False, True):
        options = argparse.Namespace(unsealed=unsealed, **given)
        for digest in ("one", "other"):
            monkeypatch.setattr(class_inputs, "engine_digest", lambda digest=digest: digest)
            keys[unsealed, digest] = class_inputs.circumstances(options, inputs, b"")
    assert keys[False, "one"] == keys[False, "other"]
    assert keys[True, "one"] != keys[True, "other"]


class Image:
    def __init__(self, label):
        self.label = lambda image, name: label


def require_image(monkeypatch, label, course, assignment=None, marked_by=()):
    monkeypatch.setattr(docker_engine.DockerEngine, "connect", lambda: Image(label))
    inputs = SimpleNamespace(assignment=assignment, courses=Courses((course,)))
    options = argparse.Namespace(image="cs336:autumn")
    class_inputs.require_image_of_course(options, inputs, marked_by)


@pytest.fixture
def course(tmp_path):
    (tmp_path / "course.toml").write_text('name = "cs336"\ntitle = "Ours"\nengine = ">=0.2"\n')
    return Course.read(tmp_path)


def test_an_image_with_other_prices_grades_nobody_beside_marks_of_this_course(
    course, monkeypatch, capsys
):
    """After --judge-again whoever hands in later would be graded by what the image still has."""
    here = course.digest()
    for label in (f"cs336 {here}", "", "cs336", "other 1234"):
        require_image(monkeypatch, label, course, marked_by=[here])
    assert not capsys.readouterr().err
    require_image(monkeypatch, "cs336 1234", course, marked_by=["1234"])
    told = "the version of the course cs336 in the image 'cs336:autumn' differs from"
    assert told in capsys.readouterr().err
    for marked_by in (["1234", here], [here], ["5678"]):
        with pytest.raises(UsageError, match=f"{told} .* same prices, run `grade --course .* bu"):
            require_image(monkeypatch, "cs336 1234", course, marked_by=marked_by)


def test_a_course_is_not_graded_in_the_image_of_another(course, monkeypatch):
    """It would say of each hand-in that there is no such assignment, as if that were its fault."""
    ours = SimpleNamespace(name="sums", course="cs336", folder=course.suites / "sums")
    require_image(monkeypatch, f"cs336 {course.digest()}", course, ours)
    with pytest.raises(UsageError, match="not the assignment sums of cs336; run `grade --course"):
        require_image(monkeypatch, "systems-for-ml 1234", course, ours)


def test_the_class_file_of_the_docs_is_right(tmp_path):
    """Every key of it, and the roster that it asks for."""
    page = (Path(__file__).parents[4] / "docs" / "class.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    for name in ("kim", "lou"):
        (tmp_path / f"{name}.csv").write_text("id,row,points\n")
    text = text.replace('"kim.csv", "lou.csv"', '"../kim.csv", "../lou.csv"')
    text = text.replace("worksheet.csv", "../worksheet.csv")
    (tmp_path / "worksheet.csv").write_text("hand_in,submitted_at\n")
    roster = "id,name,moodle,group\nalee,Ann Lee,1,\nbko,Bo Ko,2,\n"
    found = read(tmp_path, text, ["Ann Lee_1_assignsubmission_file_x.zip"], roster)
    assert found.said.policy.extensions


def settings(tmp_path, text):
    file = tmp_path / "class.toml"
    file.write_text(text)
    return read_settings(file, ClassFile, class_file_mistakes)


def test_all_of_it(tmp_path):
    found = settings(
        tmp_path,
        'assignment = "sums"\ndeadline = 2026-11-20T23:59:00\ntimezone = "Europe/Zurich"\n'
        'counts = "best"\n[late]\nper_day = 0.1\ngrace_min = 15\nlast_day = 2\n'
        "[extensions]\nanna = 2026-11-22T12:00:00Z\n",
    ).policy
    assert found.deadline == datetime(2026, 11, 20, 22, 59, tzinfo=UTC)
    assert (found.grace, found.late_per_day, found.last_day) == (timedelta(minutes=15), 0.1, 2)
    assert found.extensions == {"anna": datetime(2026, 11, 22, 12, tzinfo=UTC)}
    assert found.takes_best


def test_an_empty_file_has_no_rules(tmp_path):
    found = settings(tmp_path, "").policy
    assert (found.deadline, found.late_per_day, found.takes_best) == (None, 0, False)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dealine = 2026-11-20T23:59:00", "dealine: unknown key; .* Did you mean deadline"),
        ("deadline = 'soon'", 'deadline: found "soon"; expected a date and time'),
        ("[late]\nper_day = 0.1", "late: no effect without a deadline"),
        ("deadline = 2026-11-20T23:59:00\n[late]\nper_day = 10", "late.per_day: found 10"),
        ("timezone = 'Mars/North'", "timezone: found 'Mars/North'; expected a name such as"),
        (
            "deadline = 2026-11-20T23:59:00\n[extensions]\nanna = 2026-11-02T23:59:00",
            "extensions.anna: found 2026-11-02 23:59:00, which is before the deadline",
        ),
        ("platform = 'mooodle'", 'platform: found "mooodle"; expected one of moodle, canvas, bl'),
        ("platform = 'github'", "platform_assignment: missing. Hand-ins from github are named"),
        ("platform_assignment = 'hw3'", "platform_assignment: no effect unless platform is "),
        ("counts = 'first'", 'counts: found "first"; expected last or best'),
    ],
)
def test_a_mistake_is_named(tmp_path, text, problem):
    with pytest.raises(UsageError, match=problem):
        settings(tmp_path, text)


def test_each_mistake_in_the_settings_is_told_on_its_own_line(tmp_path):
    file = tmp_path / "class.toml"
    file.write_text('counts = "worst"\ndeadlin = 1\n')
    with pytest.raises(UsageError) as raised:
        read_settings(file, ClassFile, class_file_mistakes)
    assert [each.split(":")[1].strip() for each in raised.value.args] == ["counts", "deadlin"]
