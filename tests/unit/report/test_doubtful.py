"""Evidence that does not agree: told in every form of the report, for a person to look at."""

import json
from dataclasses import replace

import pytest

from grader.model.report import Verdict
from grader.report import json_report, markdown, terminal
from grader.report.export import junit

from . import example

WHY = (
    "4 ranks: the evidence does not agree: rank 0 recorded 6 messages to rank 1 with 96 bytes, and "
    "MPI itself counted 7 with 112; a person should look at it"
)


def report_with(*verdicts):
    """Return a report whose one part has a test of 2 points for each verdict."""
    tests = [
        example.passed(f"test_{number}", "It holds.", 2)
        if verdict is Verdict.ACCEPTED
        else example.failed(verdict, f"test_{number}", "It holds.", 2, WHY)
        for number, verdict in enumerate(verdicts)
    ]
    part = example.part("ring", "Ring all-reduce", *tests)
    return replace(example.full_marks(), parts=(part,), manual_parts=())


@pytest.mark.parametrize("other", [Verdict.ACCEPTED, Verdict.RULE_VIOLATION, Verdict.WRONG_ANSWER])
def test_no_mark_without_a_person(other):
    """Its points are withheld and the exit code is 4, whatever else the part lost points for."""
    report = report_with(other, Verdict.NOT_PROVEN)
    assert report.score == (2 if other is Verdict.ACCEPTED else 0)
    assert report.review
    assert report.exit_code == 4


def test_without_doubts_no_person_is_asked():
    """Points that were lost for sure need nobody."""
    report = report_with(Verdict.ACCEPTED, Verdict.RULE_VIOLATION)
    assert (report.review, report.exit_code) == (False, 1)


def test_every_form_says_so():
    """The reason in full, that a person should look, and nothing that accuses."""
    report = report_with(Verdict.ACCEPTED, Verdict.NOT_PROVEN)
    told = json.loads(json_report.render(report))
    assert (told["review"], told["exit_code"], told["parts"][0]["verdict"]) == (
        True,
        4,
        "NOT_PROVEN",
    )
    assert told["parts"][0]["message"] == WHY
    texts = [
        terminal.render(report, colour=False, plain=True, width=80),
        markdown.render(report),
        junit.render(report),
    ]
    for text in texts:
        flat = " ".join(text.split())
        assert "not proven" in flat or "NOT_PROVEN" in flat
        assert "MPI itself counted 7 with 112; a person should look" in flat
        assert not any(word in flat.lower() for word in ("cheat", "forge", "fraud", "guilt"))
    for text in texts[:2]:
        assert "Your instructor reviews ring" in " ".join(text.split())
