"""A grading is there in whole or not at all; what follows from the same is done once."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from class_samples import outcome, part, report

from grader.addons.classroom.gradings import (
    Gradings,
    key_of,
    with_times_of,
)
from grader.model.errors import GraderError
from grader.report import json_report

CIRCUMSTANCES = {
    "engine_digest": "engine",
    "image": "image",
    "courses": ["course 1"],
    "assignment": "sums",
    "options": ["--data", "x"],
    "secret_digest": "secret",
}


def test_whatever_a_mark_follows_from_is_in_its_key():
    """And the same gives the same, whatever the hand-in is called."""
    keys = {key_of(CIRCUMSTANCES, "one"), key_of(CIRCUMSTANCES, "two")}
    keys |= {key_of({**CIRCUMSTANCES, field: "other"}, "one") for field in CIRCUMSTANCES}
    assert len(keys) == 8
    assert key_of(dict(CIRCUMSTANCES), "one") == "427f4b87b27dafeb9fc9fcef00bc2c80"


def test_what_was_kept_is_read_again(tmp_path):
    gradings = Gradings(tmp_path / "gradings")
    assert not gradings.has("key")
    gradings.keep("key", outcome(), json_report.render(report()).encode())
    assert gradings.has("key")
    assert gradings.load("key").report == report()
    gradings.keep("bad", outcome("no zip", 2), None)
    assert gradings.load("bad").outcome.error == "no zip"
    assert [gradings.is_refused(key) for key in ("bad", "key", "none")] == [True, False, False]
    assert gradings.keys_of({"digest"}) == ["bad", "key"]
    assert gradings.keys_of({"another"}) == []


def test_a_grading_of_an_earlier_grader_keeps_its_mark(tmp_path):
    """A course takes a new release in the middle of a term."""
    gradings = Gradings(tmp_path)
    kept = Path(__file__).parents[2] / "report" / "earlier" / "version_7.json"
    gradings.keep("key", outcome(), kept.read_bytes())
    found = gradings.load("key").report
    assert [part.points for part in found.parts] == [
        part["points"] for part in json.loads(kept.read_text())["parts"]
    ]


def test_what_an_interrupted_command_has_observed_is_found(tmp_path):
    """It has published nothing. The first recording counts: a later one may be judged from it."""
    gradings = Gradings(tmp_path)
    for key, digest, hour, recording in (
        ("again", "one", "13", b"x"),
        ("first", "one", "12", b"x"),
        ("other", "two", "12", None),
    ):
        ended = replace(outcome(), digest=digest, started_at=f"2026-11-20T{hour}:00:00.000+00:00")
        gradings.keep(key, ended, json_report.render(report()).encode(), recording)
    assert gradings.recorded({"one", "two", "three"}) == {"one": "first"}
    assert gradings.recorded({"two"}) == {}


def test_only_what_may_have_been_in_the_way_is_tried_again(tmp_path):
    gradings = Gradings(tmp_path)
    gradings.keep("empty", outcome("the hand-in is empty; put the files there", 2), None)
    gradings.keep("damaged", outcome("the hand-in is no archive", 2), None)
    gradings.keep("graded", outcome(), json_report.render(report()).encode())
    found = {key: gradings.may_change(key) for key in ("empty", "damaged", "graded", "none")}
    assert found == {"empty": False, "damaged": True, "graded": False, "none": False}


def test_a_second_one_that_follows_from_the_same_changes_nothing(tmp_path):
    gradings = Gradings(tmp_path)
    gradings.keep("key", outcome(), json_report.render(report()).encode())
    gradings.keep("key", replace(outcome(), host="other"), json_report.render(report()).encode())
    assert gradings.load("key").outcome.host == ""
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_who_is_killed_while_writing_leaves_nothing_that_counts(tmp_path, call):
    """At any of the steps; what is left over goes at the next time."""
    gradings = Gradings(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            if call == "fsync":
                os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
            else:
                type(tmp_path).rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            gradings.keep("key", outcome(), b"{}")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert not gradings.has("key") and list(tmp_path.iterdir())
    gradings.tidy()
    assert list(tmp_path.iterdir()) == []


def test_a_grading_that_was_spoilt_is_said_so(tmp_path):
    gradings = Gradings(tmp_path)
    gradings.keep("key", outcome(), json_report.render(report()).encode())
    (tmp_path / "key" / "outcome.json").write_text(json.dumps({"exit_code": 0}))
    with pytest.raises(GraderError, match="remove that folder to grade again"):
        gradings.load("key")


def test_a_spoilt_grading_may_be_anybodys(tmp_path):
    """So it is removed with a student who is forgotten, and keeps nobody from being forgotten."""
    gradings = Gradings(tmp_path)
    for key in ("spoilt", "theirs"):
        gradings.keep(key, outcome(), json_report.render(report()).encode())
    (tmp_path / "spoilt" / "outcome.json").write_text("{")
    assert gradings.keys_of({"digest"}) == ["spoilt", "theirs"]
    assert gradings.keys_of({"another"}) == ["spoilt"]


def test_damaged_gradings_name_no_course(tmp_path):
    """Each is the problem of its own student, not of all others."""
    gradings = Gradings(tmp_path)
    for key in ("whole", "cut"):
        gradings.keep(key, outcome(), json_report.render(report()).encode())
    (tmp_path / "cut" / "report.json").write_text('{"parts": [')
    assert gradings.courses_of(["whole", "cut", "none"]) == {report().versions.course_digest}


def test_what_is_left_of_a_folder_is_not_in_the_way(tmp_path):
    gradings = Gradings(tmp_path)
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "report.json").write_text("{half")
    gradings.keep("key", outcome("no zip", 2), None)
    assert gradings.load("key").outcome.error == "no zip"


def test_what_is_judged_again_keeps_the_times_of_its_grading(tmp_path):
    """The page of the class names who was slow, and how long a judge took says nothing of that."""
    fast = replace(report(), wall_time_s=0.5, parts=(replace(part(), wall_time_s=0.1),))
    slow = replace(report(), wall_time_s=50.0, parts=(replace(part(), wall_time_s=40.0),))
    before, after = (json_report.render(each).encode() for each in (slow, fast))
    assert with_times_of(tmp_path / "recording.rec", after) == after
    (tmp_path / "report.json").write_bytes(before)
    found = json_report.parse_saved(with_times_of(tmp_path / "recording.rec", after))
    assert (found.wall_time_s, found.parts[0].wall_time_s) == (50.0, 40.0)
    (tmp_path / "report.json").write_text("[]")
    assert with_times_of(tmp_path / "recording.rec", after) == after
