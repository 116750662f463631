"""A label says what a grading has to make of a submission; disagreement is told in sentences."""

import pytest

from grader.addons.authoring.verification.labels import (
    Label,
    disagreements,
    labelled,
    read_label,
)
from grader.model.errors import GraderError
from grader.model.finding import Finding
from grader.model.report import PartResult, TestResult, Verdict

RIGHT = 'about = "it"\npart = "sum"\nverdict = "WRONG_ANSWER"\ncause = "sum.is_one"\npoints = 4\n'


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "wrong_answer" / "it" / "the_bug"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(RIGHT)
    return folder


def test_a_label_is_read(folder):
    label = read_label(folder)
    assert (label.part, label.verdict, label.points) == ("sum", "WRONG_ANSWER", 4)
    assert labelled(folder.parents[2], "it") == [folder]
    assert labelled(folder.parents[2], "other") == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("about", "abuot", "abuot: unknown key; .* Did you mean about.*about: missing"),
        ('"sum"', "3", "part: found 3; expected a string"),
        ("WRONG_ANSWER", "WRONG", 'verdict: found "WRONG"; expected one of ACCEPTED'),
        ("WRONG_ANSWER", "DEADLOCK", "verdict: found DEADLOCK; expected WRONG_ANSWER, because the"),
        ("points = 4", 'points = "most"', 'points: found "most"; expected all, some, or a number'),
        ("points = 4", "", "points: missing; expected points or fair_share"),
        ("points = 4", "fair_share = 3", "fair_share: found 3; expected a share from 0 to 1"),
        (
            '"sum.is_one"',
            '""',
            "cause: missing; expected the key of a finding, because every failure",
        ),
        ("cause =", "message =", "message: unknown key"),
        ("part =", "part", r"expected\.toml: is not valid TOML"),
    ],
)
def test_a_label_that_is_not_right_says_what_is_wrong(folder, old, new, told):
    (folder / "expected.toml").write_text(RIGHT.replace(old, new))
    with pytest.raises(GraderError, match=f"(?s){told}"):
        read_label(folder)


def result(points=4.0, verdict=Verdict.WRONG_ANSWER, message="it is 1"):
    tests = tuple(
        TestResult(
            name,
            name,
            verdict if points_lost else Verdict.ACCEPTED,
            p,
            p + points_lost,
            findings=(Finding("sum.is_one", message, {"ranks": (0, 1), "name": "recv"}),),
        )
        for name, p, points_lost in [("test_one", 4.0, 0), ("test_two", points - 4, 10 - points)]
    )
    return PartResult("sum", "Sum", verdict, points, 10, message, tests)


def label(**changes):
    fields = {"about": "it", "part": "sum", "verdict": "WRONG_ANSWER", "cause": "sum.is_one"}
    return Label(**{**fields, "points": 4, **changes})


def test_what_is_as_the_label_says_is_not_told():
    assert list(disagreements(label(), result())) == []
    assert list(disagreements(label(points="some", subject=("test_two",)), result())) == []
    assert list(disagreements(label(points=None, fair_share=0.5), result())) == []
    assert list(disagreements(label(failing_tests=("test_two",)), result())) == []
    assert list(disagreements(label(facts={"ranks": [0, 1]}), result())) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"verdict": "DEADLOCK"}, "expected DEADLOCK, found WRONG_ANSWER: it is 1"),
        ({"cause": "sum.is_two"}, "no finding has the key sum.is_two; found sum.is_one {"),
        (
            {"facts": {"name": "send"}},
            "no finding has the key sum.is_one and the facts {'name': 'send'}; found sum.is_o",
        ),
        ({"points": 5}, "expected 5 points, found 4 of 10"),
        ({"points": "all"}, "expected all points, found 4 of 10"),
        (
            {"subject": ("test_one",)},
            "points are lost in tests that the label's `subject` does not list: test_two",
        ),
        ({"fair_share": 0.6}, "found 4 of 10 points, but fair_share is 60%"),
        ({"failing_tests": ()}, "tests expected to fail: none; tests that failed: test_two"),
    ],
)
def test_each_disagreement_is_told(changes, told):
    (sentence,) = disagreements(label(**changes), result())
    assert sentence.startswith(told)
