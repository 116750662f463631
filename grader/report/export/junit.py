"""The report as JUnit XML, as CI systems read it: a suite for each part, a case for each test.

Lost points are failures whose type is the verdict; a failure of the grader itself is an error; a
test that was not run is skipped. The text is ASCII; what XML cannot hold is shown as an escape.
Artemis has a form of its own: it knows a test by its name alone, whatever suite it is in, and shows
the text of a failure. It takes an error for a failure, and has no points: an instructor gives each
test its weight.
"""

import xml.etree.ElementTree as ET

from grader.model.points import points_text, written
from grader.model.report import PartResult, Report, TestResult, Verdict
from grader.report.causes import is_missing
from grader.report.export import plain_text
from grader.report.export.plain_text import cases, require_mark
from grader.report.safe_text import disarm, one_line, visible_lines

_ELEMENTS = {Verdict.JUDGE_ERROR: "error", Verdict.SKIPPED: "skipped"}


def render(report: Report) -> str:
    """Return the report as XML; points and score are properties of the suites."""
    root = ET.Element("testsuites", name=one_line(report.assignment))
    for part in report.parts:
        properties = {
            "title": one_line(part.title),
            "verdict": part.verdict.value,
            "points": "" if part.verdict is Verdict.JUDGE_ERROR else written(part.points),
            "max_points": written(part.max_points),
        }
        about = {"name": one_line(part.name), "time": f"{part.wall_time_s:.3f}"}
        suite = _suite(root, report, about, properties)
        for test in cases(part):
            _tell(_case(suite, report, f".{part.name}.{test.name}", test.sentence), part, test)
    for manual in report.manual_parts:
        properties = {"title": one_line(manual.title), "max_points": written(manual.max_points)}
        suite = _suite(root, report, {"name": one_line(manual.name)}, properties)
        worth, found = points_text(manual.max_points), one_line(manual.found)
        pending = f"{worth}, graded by hand ({found})"
        ET.SubElement(_case(suite, report, "", manual.name), "skipped", message=pending)
    for element in (*root, root):
        _count(element)
    root.set("time", f"{report.wall_time_s:.3f}")
    return _xml(root)


def _suite(
    root: ET.Element, report: Report, about: dict[str, str], properties: dict[str, str]
) -> ET.Element:
    """Add a suite without its cases, with what is to know of it and of the report."""
    suite = ET.SubElement(root, "testsuite", about, timestamp=one_line(report.started_at))
    whole = {
        "total_score": "" if report.score is None else written(report.score),
        "total_max_score": written(report.max_score),
        "submission_digest": one_line(report.submission_digest),
    }
    element = ET.SubElement(suite, "properties")
    for key, value in {**properties, **whole}.items():
        ET.SubElement(element, "property", name=key, value=value)
    return suite


def _case(suite: ET.Element, report: Report, where: str, name: str) -> ET.Element:
    """Add a case; where: tells it from others of its name."""
    classname = one_line(f"{report.assignment}{where}")
    return ET.SubElement(suite, "testcase", classname=classname, name=one_line(name))


def _tell(case: ET.Element, part: PartResult, test: TestResult) -> None:
    if test.verdict is Verdict.ACCEPTED:
        return
    kind = "skipped" if is_missing(part) else _ELEMENTS.get(test.verdict, "failure")
    message = one_line(test.message)
    ended = ET.SubElement(case, kind, type=test.verdict.value, message=message)
    where = f" ({one_line(test.where)})" if test.where else ""
    points = f"{written(test.points)} of {points_text(test.max_points)}"
    if test.verdict is Verdict.SKIPPED:
        points = f"not run: {points if test.points else points_text(test.max_points)}"
    # Some CI systems print it.
    ended.text = disarm(f"{message}{where}\n{points}")
    if test.detail:
        ET.SubElement(case, "system-out").text = "\n".join(map(disarm, visible_lines(test.detail)))


def _count(element: ET.Element) -> None:
    """Say of the report or of a suite how many cases there are in it, and how they ended."""
    element.set("tests", str(len(list(element.iter("testcase")))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(len(list(element.iter(tag)))))


def render_for_artemis(report: Report) -> str:
    """Return the XML. Raises GraderError for a report without a mark."""
    require_mark(report, "Artemis")
    suite = ET.Element("testsuite", name=one_line(report.assignment))
    for part in report.parts:
        for test in cases(part):
            name = f"{one_line(part.name)}.{one_line(test.name)}"
            case = ET.SubElement(suite, "testcase", name=name)
            _tell_artemis(case, test)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return _xml(suite)


def _xml(root: ET.Element) -> str:
    ET.indent(root)
    xml: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return xml.decode("ascii")


def _tell_artemis(case: ET.Element, test: TestResult) -> None:
    """Add why a test has not held. An attribute `message` would hide the text from Artemis."""
    if test.verdict is Verdict.SKIPPED:
        ET.SubElement(case, "skipped")
    elif test.verdict is not Verdict.ACCEPTED:
        ET.SubElement(case, "failure", type=test.verdict.value).text = plain_text.output(test)
