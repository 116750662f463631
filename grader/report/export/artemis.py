"""The report as JUnit XML of which Artemis can read all that matters.

Artemis knows a test by its name alone, whatever suite it is in, and shows the text of a failure. It
takes an error for a failure, and has no points: an instructor gives each test its weight.
"""

import xml.etree.ElementTree as ET

from grader.model.report import Report, TestResult, Verdict
from grader.report.export import plain_text
from grader.report.platform_marks import cases, require_mark
from grader.report.safe_text import one_line


def render(report: Report) -> str:
    """Return the XML. Raises GraderError for a report without a mark."""
    require_mark(report, "Artemis")
    suite = ET.Element("testsuite", name=one_line(report.assignment))
    for part in report.parts:
        for test in cases(part):
            name = f"{one_line(part.name)}.{one_line(test.name)}"
            case = ET.SubElement(suite, "testcase", name=name)
            _tell(case, test)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suite)
    xml: bytes = ET.tostring(suite, encoding="us-ascii", xml_declaration=True)
    return xml.decode("ascii")


def _tell(case: ET.Element, test: TestResult) -> None:
    """Add why a test has not held. An attribute `message` would hide the text from Artemis."""
    if test.verdict is Verdict.SKIPPED:
        ET.SubElement(case, "skipped")
    elif test.verdict is not Verdict.ACCEPTED:
        ET.SubElement(case, "failure", type=test.verdict.value).text = plain_text.output(test)
