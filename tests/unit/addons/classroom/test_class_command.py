"""What the command `class` grades, and what it need not grade again."""

import argparse

import pytest

from grader.addons.classroom import class_command, class_inputs
from grader.commands.arguments import parser
from grader.model.errors import UsageError


@pytest.mark.parametrize("settings", ['not_handed_in = "zero"', 'marks = "marks.csv"', ""])
def test_an_empty_hand_in_is_not_graded_again_after_the_image_has_changed(
    tmp_path, monkeypatch, capsys, settings
):
    """Whether or not somebody has settled it; so it does not matter what the image holds."""
    made = tmp_path / "in"
    (made / "anna").mkdir(parents=True)
    (made / "class.toml").write_text(settings)
    (made / "marks.csv").write_text("id,row,points\nanna,all,0\n")
    images = iter(["one", "other", "other"])
    monkeypatch.setattr(class_command, "circumstances", lambda *_: {"image": next(images)})
    monkeypatch.setattr(class_inputs, "require_image_of_course", lambda *_: None)
    options = parser(argparse.Action).parse_args(
        ["class", str(made), "--out", str(tmp_path / "out")]
    )
    code = 0 if settings else 3
    assert class_command.grade_class(options) == code
    assert "already graded" not in capsys.readouterr().err

    def refuse(*_):
        raise UsageError("the image has another course")

    monkeypatch.setattr(class_inputs, "require_image_of_course", refuse)
    assert class_command.grade_class(options) == code
    assert "1 already graded, 0 to grade" in capsys.readouterr().err
    options.judge_again = True
    class_command.grade_class(options)
    said = capsys.readouterr().err
    assert "already judged" not in said
    assert "anna: cannot be graded, so there is nothing to judge again" in said


@pytest.mark.parametrize(("jobs", "is_told"), [("2", True), ("1", False)])
def test_fewer_gradings_at_a_time_than_asked_for_are_told(
    tmp_path, monkeypatch, capsys, jobs, is_told
):
    (tmp_path / "in" / "anna").mkdir(parents=True)
    monkeypatch.setattr(class_command, "circumstances", lambda *_: {"image": "one"})
    monkeypatch.setattr(class_inputs, "require_image_of_course", lambda *_: None)
    monkeypatch.setattr(class_command, "cores_here", lambda: [(0,), (1,)])
    out = str(tmp_path / "out")
    class_command.grade_class(
        parser(argparse.Action).parse_args(
            ["class", str(tmp_path / "in"), "--out", out, "--jobs", jobs, "--cores", "4"]
        )
    )
    told = "grading 1 at a time: this machine has 2 cores, and --cores is 4"
    assert (told in capsys.readouterr().err) == is_told
