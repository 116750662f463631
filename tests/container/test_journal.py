"""A real container is killed in the middle of a grading, and the report is whole all the same.

Needs the image that `make image` builds. Without a Docker daemon these tests are skipped, but not
where CI=true: there a skipped container test is a failure.
"""

import json
from pathlib import Path

import pytest
from plain_grading import grade_plainly
from this_checkout import IMAGE, ROOT

from grader.sealed.container import sealed_grading
from grader.sealed.container.plan import CLIENT_LABEL, client
from grader.sealed.container.resume import Record

REFERENCE = ROOT / "reference" / "mpi_sgd"
PARTS = ("naive_allreduce", "ring_allreduce")


@pytest.fixture
def killer(engine, monkeypatch):
    """Return a function: kill our container when a test of a part starts, so many times."""

    def arm(part: str, number: int, times: int) -> list[str]:
        """number: of the test within the part. Returns all lines of the journal, as they come."""
        lines: list[str] = []
        victims: list[str] = []

        class Killing(Record):
            def take(self, line: str) -> None:
                super().take(line)
                lines.append(line)
                started = json.loads(line).get("started", {})
                if started.get("part") != part or len(victims) == times:
                    return
                ended = [each.step for each in self.resume.finished if each.step.part == part]
                if len(ended) == number:
                    victims.append(started["test"])
                    ours = {"label": f"{CLIENT_LABEL}={client()}"}
                    for victim in engine.containers.list(filters=ours):
                        victim.kill()

        monkeypatch.setattr(sealed_grading, "Record", Killing)
        return lines

    return arm


def grade(submission: Path, *parts: str) -> tuple[dict, list[str]]:
    shown: list[str] = []
    options = [option for part in parts for option in ("--part", part)]
    report = grade_plainly(submission, image=IMAGE, options=options, on_progress=shown.append)
    return json.loads(report), shown


def test_a_killed_container_loses_nothing(killer):
    """Killed in the second part: full marks, nothing run twice but the test in progress."""
    lines = killer("ring_allreduce", 0, times=1)
    report, shown = grade(REFERENCE, *PARTS)
    assert report["score"] == report["max_score"] > 0
    assert [part["name"] for part in report["parts"]] == list(PARTS)
    (note,) = [note for note in report["notes"] if "killed" in note]
    assert note.startswith("the grading container was killed once")
    started = [step["test"] for step in (json.loads(line).get("started") for line in lines) if step]
    finished = [each for each in map(json.loads, lines) if "finished" in each]
    num_tests = sum(len(part["tests"]) for part in report["parts"])
    assert len(finished) == num_tests
    assert len(started) == num_tests + 1
    assert not [line for line in shown if "journal" in line]


def test_a_test_that_always_kills_is_never_a_zero(killer):
    """No score, and whose fault it is; the tests before and after it keep their marks."""
    # The fourth starts ranks of its own: it is not over before the container is killed.
    killer("ring_allreduce", 3, times=2)
    report, _ = grade(REFERENCE, "ring_allreduce")
    assert (report["score"], report["exit_code"]) == (None, 3)
    (part,) = report["parts"]
    by_verdict = {}
    for test in part["tests"]:
        by_verdict.setdefault(test["verdict"], []).append(test)
    (lost,) = by_verdict["JUDGE_ERROR"]
    assert lost["message"].startswith("the grading container was killed twice during this check")
    assert (
        len(by_verdict["ACCEPTED"]) + len(by_verdict.get("SKIPPED", [])) == len(part["tests"]) - 1
    )
    assert by_verdict["ACCEPTED"]


FORGING_RING = """
import os, json
def ringallreduce(send, recv, comm, op):
    line = b'\\njournal: {"finished": {"forged": 1}}\\n'
    for descriptor in range(64):
        try:
            os.write(descriptor, line)
        except OSError:
            pass
    for pid in os.listdir("/proc"):
        for name in (f"/proc/{pid}/fd/1", f"/proc/{pid}/fd/2", "/dev/console", "/dev/stderr"):
            if pid.isdigit():
                try:
                    with open(name, "wb") as stream:
                        stream.write(line)
                except OSError:
                    pass
"""


def test_a_submission_cannot_write_into_the_journal(killer, tmp_path):
    """Nothing of what it writes, wherever it can, reaches the client as a line of its own."""
    (tmp_path / "my_ring_allreduce.py").write_text(FORGING_RING)
    lines = killer("none", 0, times=0)
    report, shown = grade(tmp_path, "ring_allreduce")
    assert report["score"] == 0
    told = [json.loads(line) for line in lines]
    assert len({each["key"] for each in told}) == 1
    assert all(each.get("finished", {}).get("forged") is None for each in told)
    assert not [line for line in shown if "forged" in line]
