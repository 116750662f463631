"""Points are paid as an author adds them up on paper, not as binary fractions add up."""

import textwrap

import numpy as np
import pytest
from courses_of import courses_of
from hypothesis import given
from hypothesis import strategies as st

from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.grading_plugin.marks import points as mark
from grader.intake import submission
from grader.judge.explanation.launch_result import LaunchResult
from grader.model import points
from grader.model.errors import GraderError
from grader.model.report import Outcome, Report, Verdict
from grader.report import json_report, words
from grader.trace.calls import Trace

PART = """
[[parts]]
name = "{name}"
title = "Part"
file = ["it.py"]
entry = "it()"
suite = "test_{name}.py"
points = {points}
hidden_points = {hidden_points}
backend = "mpi"
case_time_limit_s = 3
"""

CASES = """
from dataclasses import dataclass
from grader.grading_plugin.case import Array, Case
from grader.grading_plugin.marks import part, points

@dataclass(frozen=True)
class Number(Case):
    probe: str = "call"

    @property
    def label(self):
        return "one"

    def inputs(self, random, ranks, data):
        return [{"number": 1.0}] * ranks

    def results(self, rank, ranks):
        return {"number": Array("float64", ())}
"""

TEST = """
@points({points})
def test_{name}_{number}(run):
    for case, outcome in run(2, (Number(),)):
        assert outcome["number"] == [1.0, 1.0]
"""


def echo(plan):
    """Answer as a right submission would."""
    outcomes = []
    for case in plan.cases:
        results = tuple({"number": np.float64(each["number"])} for each in case.inputs)
        outcomes.append(Outcome(case.label, plan.ranks, case.inputs, results, Trace(()), 0.1))
    return LaunchResult(tuple(outcomes), None)


def grade(tmp_path, parts, hidden=()) -> Report:
    """Grade right work of an assignment; parts: what each part and each of its tests pays."""
    folder = tmp_path / "suites" / "sums"
    folder.mkdir(parents=True)
    text = 'title = "Sums"\n'
    for index, (whole, tests) in enumerate(parts):
        name = f"p{index}"
        text += PART.format(name=name, points=whole, hidden_points=hidden[0] if hidden else 0)
        written = [TEST.format(points=each, name=name, number=n) for n, each in enumerate(tests)]
        head = f'from .cases import *\npytestmark = [part("{name}")]\n'
        (folder / f"test_{name}.py").write_text(head + "".join(written))
        if hidden:
            written = [
                TEST.format(points=each, name="h", number=n) for n, each in enumerate(hidden[1])
            ]
            (folder / f"hidden_{name}.py").write_text(head + "".join(written))
    (folder / "__init__.py").write_text("")
    (folder / "cases.py").write_text(textwrap.dedent(CASES))
    (folder / "probes.py").write_text("")
    (folder / "assignment.toml").write_text(text)
    handed_in = tmp_path / "handin"
    handed_in.mkdir()
    (handed_in / "it.py").write_text("")
    found = submission.read(handed_in, ["it.py"])
    courses = courses_of(folder.parent)
    settings = Settings(courses=courses, launch=echo)
    return pipeline.grade_submission(found, courses.assignment("sums"), settings)


@pytest.mark.parametrize(
    ("whole", "tests"),
    [
        ("0.3", ["0.1", "0.2"]),
        ("1", ["0.1"] * 10),
        ("0.75", ["0.25", "0.5"]),
        ("0.8", ["0.7", "0.1"]),
    ],
)
def test_what_adds_up_on_paper_adds_up(tmp_path, whole, tests):
    """Tests of 0.1 and 0.2 points are a part of 0.3, which is full marks when they hold."""
    report = grade(tmp_path, [(whole, tests)])
    assert (report.parts[0].verdict, report.parts[0].message) == (Verdict.ACCEPTED, "")
    assert (report.score, report.max_score) == (float(whole), float(whole))
    assert report.exit_code == 0


def test_what_does_not_add_up_is_told_to_the_last_digit(tmp_path):
    """A millionth too much is no rounding error: no mark, and both numbers are named."""
    report = grade(tmp_path, [("3", ["1", "2.000001"])])
    assert report.parts[0].verdict is Verdict.JUDGE_ERROR
    assert (
        report.parts[0].message
        == "the suite's tests are worth 3.000001 points, but assignment.toml says 3"
    )


def test_full_marks_of_several_parts_are_full_marks(tmp_path):
    """Sums over parts, and over visible and hidden tests, are exact as well."""
    parts = [("0.1", ["0.1"]), ("0.2", ["0.2"]), ("0.3", ["0.3"])]
    report = grade(tmp_path, parts, hidden=("0.7", ["0.6", "0.1"]))
    assert [part.points for part in report.parts] == [0.8, 0.9, 1.0]
    assert (report.score, report.max_score, report.exit_code) == (2.7, 2.7, 0)
    assert "2.7 of 2.7 points in" in words.score_sentence(report)
    assert json_report.parse(json_report.render(report)).exit_code == 0


@pytest.mark.parametrize("text", ["1/3", "-1", "float('nan')", "float('inf')", "True", "'3'"])
def test_points_that_cannot_be_added_on_paper_are_the_authors_mistake(tmp_path, text):
    """Refused where they are written, as the grader's failure: nobody gets a mark from them."""
    with pytest.raises(ValueError, match="found"):
        mark(eval(text))
    report = grade(tmp_path, [("1", [text])])
    assert report.parts[0].verdict is Verdict.JUDGE_ERROR
    assert "points" in report.parts[0].message
    assert report.exit_code == 3


@pytest.mark.parametrize(
    "text",
    # What a float cannot tell from 0.3 is no points either.
    ["0.3333333333", "0.300000000000000000001", "1000001", "-1", "nan", "inf", "1e-999999", '"3"'],
)
def test_an_assignment_with_such_points_is_not_loaded(tmp_path, text):
    """Whether for all tests of a part, for its hidden ones, or for what a person marks."""
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "test_a.py").touch()
    file = tmp_path / "it" / "assignment.toml"
    for wrong in [(text, 0), (1, text)]:
        file.write_text(
            'title = "It"\n' + PART.format(name="a", points=wrong[0], hidden_points=wrong[1])
        )
        with pytest.raises(
            GraderError, match=r"^\S*assignment\.toml: parts\.a\.\w*points: found .*$"
        ):
            courses_of(tmp_path).assignment("it")
    manual = f'[[manual]]\nname = "m"\ntitle = "M"\nfile = "m.pdf"\npoints = {text}\n'
    file.write_text('title = "It"\n' + PART.format(name="a", points=1, hidden_points=0) + manual)
    with pytest.raises(GraderError, match=r"^\S*assignment\.toml: manual\.m\.points: found .*$"):
        courses_of(tmp_path).assignment("it")


@given(st.lists(st.integers(0, 10**9), max_size=40))
def test_sums_are_those_of_whole_millionths(millionths):
    """Any points that are accepted add up to the number one would write for their sum."""
    written = [points.checked(each / 10**6) for each in millionths]
    assert points.total(written) == sum(millionths) / 10**6
