"""Reports of earlier versions are read: a mark that was kept outlives a release."""

import json
from pathlib import Path

import pytest

from grader.model.errors import GraderError
from grader.model.report import Verdict
from grader.report import json_report
from grader.report.files import saved
from grader.report.json_report import SCHEMA_VERSION, OtherSchemaVersionError

JUDGE = Verdict.JUDGE_ERROR  # of a part, in that report
KEPT = sorted((Path(__file__).parent / "earlier").glob("version_*.json"))
"""A report with every verdict, as the last grader of that version wrote it."""


def test_there_is_a_report_of_the_oldest_version_and_of_the_last():
    """Whoever raises the version keeps one of the old, and another where a form has changed."""
    versions = sorted(int(file.stem.removeprefix("version_")) for file in KEPT)
    assert (versions[0], versions[-1]) == (7, SCHEMA_VERSION - 1)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_a_report_of_an_earlier_version_says_what_it_said(file):
    """Points, verdicts and sentences are the same, and what was not known then is empty."""
    assert '"elements":' in file.read_text()  # it shows what was seen, too
    old = json.loads(file.read_text())
    report = saved(file)
    assert {test.verdict for part in report.parts for test in part.tests} == {*Verdict} - {JUDGE}
    new = json.loads(json_report.render(report))
    for part, was in zip(new["parts"], old["parts"], strict=True):
        assert (part["points"], part["verdict"]) == (was["points"], was["verdict"])
        for test, one in zip(part["tests"], was["tests"], strict=True):
            del test["measured"], one["measured"]
            added = [test.pop(key) for key in ("case", "findings", "blocked_by") if key not in one]
            assert not any(added)
            assert test == one
    assert new["score"] == old["score"]


@pytest.mark.parametrize("version", [1, 6, SCHEMA_VERSION + 1, "7", None])
def test_what_cannot_be_brought_here_is_refused(version):
    """A later grader's report, too: nobody knows here what it says."""
    old = {**json.loads(KEPT[0].read_text()), "schema_version": version}
    with pytest.raises(OtherSchemaVersionError, match="use an image and a grader of the same"):
        json_report.parse_saved(json.dumps(old))


@pytest.mark.parametrize("spoiled", [{"parts": 3}, {"parts": [3]}, {"parts": [{}]}])
def test_a_damaged_report_of_an_earlier_version_is_one_sentence(spoiled):
    """As one of today is."""
    old = json.loads(KEPT[0].read_text())
    with pytest.raises(GraderError, match="an unreadable report"):
        json_report.parse_saved(json.dumps(old | spoiled))


def test_an_image_of_an_earlier_version_is_not_taken_for_one_of_this():
    """The report of a grading that has just ended has to be of this release."""
    with pytest.raises(OtherSchemaVersionError):
        json_report.parse(KEPT[0].read_bytes())
