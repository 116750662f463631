"""The JUnit report: what a CI system counts, and XML that any parser takes."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings

from grader.model.report import Verdict
from grader.report.export import junit

from . import example, hostile
from .golden_files import assert_golden


def parsed(report) -> ET.Element:
    text = junit.render(report)
    assert text.isascii()
    return ET.fromstring(text)


def test_the_text_is_the_golden_one():
    """Rewrite with GRADER_WRITE_GOLDEN=1, then read the difference."""
    assert_golden(junit.render(example.every_verdict()), "every_verdict.xml")


def test_each_part_is_a_suite_and_each_test_a_case():
    """In the order of the assignment; manual parts come last."""
    report = example.usual()
    suites = parsed(report).findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        *(part.name for part in report.parts),
        *(part.name for part in report.manual_parts),
    ]
    for suite, part in zip(suites, report.parts, strict=False):
        cases = [case.get("name") for case in suite.findall("testcase")]
        assert cases == [test.sentence for test in part.tests]


def test_no_two_cases_are_one_to_a_ci_system():
    """It tells them apart by class and name: two checks may ask for the same in the same words."""
    report = example.usual()
    part = report.parts[2]
    alike = [replace(test, sentence=part.title) for test in part.tests]
    report = replace(report, parts=(replace(part, tests=tuple(alike), max_points=99),))
    cases = parsed(report).findall("testsuite/testcase")
    assert len({(each.get("classname"), each.get("name")) for each in cases}) == len(cases) > 5


def test_verdicts_decide_how_a_case_ended():
    """Lost points are failures by verdict, the grader's failure an error, unrun tests skipped."""
    root = parsed(example.every_verdict())
    ended = {
        finding.get("type"): finding.tag
        for finding in root.iterfind("testsuite/testcase/*")
        if finding.get("type") and finding.get("message") != "missing.py was not handed in"
    }
    assert ended.pop("JUDGE_ERROR") == "error"
    assert ended.pop("SKIPPED") == "skipped"
    assert set(ended.values()) == {"failure"}
    assert set(ended) == {v.value for v in Verdict} - {"ACCEPTED", "JUDGE_ERROR", "SKIPPED"}


def test_a_part_without_tests_still_has_a_case():
    """A missing file and a failed grader are not silent; what was not tried is no failure."""
    root = parsed(example.every_verdict())
    missing = root.find("testsuite[@name='missing']/testcase/skipped")
    assert missing.get("type") == "NOT_ATTEMPTED"
    assert missing.get("message") == "missing.py was not handed in"
    assert root.find("testsuite[@name='broken']/testcase/error").get("type") == "JUDGE_ERROR"


def test_manual_parts_are_pending():
    """They are skipped, never failed, and say what was found."""
    case = parsed(example.usual()).find("testsuite[@name='run_times']/testcase/skipped")
    assert case.get("message") == "5 points, graded by hand (report.pdf, 3 pages)"


def test_points_are_properties():
    """Each suite tells its own points and those of the whole; no score is no number."""
    suite = parsed(example.usual()).find("testsuite[@name='sync_ring']/properties")
    values = {each.get("name"): each.get("value") for each in suite}
    assert (values["points"], values["max_points"]) == ("13", "15")
    assert (values["total_score"], values["total_max_score"]) == ("30", "100")
    suite = parsed(example.every_verdict()).find("testsuite[@name='broken']/properties")
    values = {each.get("name"): each.get("value") for each in suite}
    assert (values["points"], values["total_score"]) == ("", "")


@pytest.mark.parametrize("text", hostile.TEXTS)
def test_hostile_texts_are_shown_as_text(text):
    """XML stays whole, and what it cannot hold is shown as an escape."""
    root = parsed(hostile.everywhere(text))
    assert len(root.findall("testsuite")) == 5
    for element in root.iter():
        for value in (element.text or "", *element.attrib.values()):
            assert value.replace("\n", "").isprintable()


def test_markup_survives_as_text():
    """Nothing is lost: the parser gives back what the submission printed."""
    text = "<b>]]> & \"quoted\" 'too'</b>"
    found = parsed(hostile.everywhere(text)).find("testsuite/testcase/failure")
    assert found.get("message") == text
    out = parsed(hostile.everywhere(text)).find("testsuite/testcase/system-out")
    assert out.text == text


@given(hostile.reports)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_sums_are_right(report):
    """Every report parses, and every count is the count of what is there."""
    root = parsed(report)
    for element in [root, *root.findall("testsuite")]:
        for count, tag in [
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ]:
            assert element.get(count) == str(len(list(element.iter(tag))))
