"""The report as JUnit XML, as CI systems read it: a suite for each part, a case for each test.

Lost points are failures whose type is the verdict; a failure of the grader itself is an error; a
test that was not run is skipped. The text is ASCII; what XML cannot hold is shown as an escape.
"""

import xml.etree.ElementTree as ET

from grader.model import ManualPart, PartResult, Report, TestResult, Verdict
from grader.report.causes import is_missing
from grader.report.safe_text import disarm, one_line, visible_lines
from grader.report.totals import number_text, points_text

_ELEMENTS = {Verdict.JUDGE_ERROR: "error", Verdict.SKIPPED: "skipped"}


def render(report: Report) -> str:
    """Return the report as XML; points and score are properties of the suites."""
    suites = [_suite(report, part) for part in report.parts]
    suites += [_manual_suite(report, part) for part in report.manual_parts]
    root = ET.Element("testsuites", name=one_line(report.assignment))
    root.attrib |= _sums(suites)
    root.set("time", f"{report.wall_time_s:.3f}")
    root.extend(suites)
    ET.indent(root)
    xml: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return xml.decode("ascii")


def _suite(report: Report, part: PartResult) -> ET.Element:
    cases = [_case(report, part, test) for test in part.tests]
    if part.verdict not in {test.verdict for test in part.tests}:
        # A file is missing, or the suite itself could not be run: no test tells it.
        cases.append(_case(report, part, _whole(part)))
    return _filled(
        ET.Element("testsuite", name=one_line(part.name), time=f"{part.wall_time_s:.3f}"),
        report,
        {
            "title": one_line(part.title),
            "verdict": part.verdict.value,
            "points": "" if part.verdict is Verdict.JUDGE_ERROR else number_text(part.points),
            "max_points": number_text(part.max_points),
        },
        cases,
    )


def _manual_suite(report: Report, part: ManualPart) -> ET.Element:
    name = one_line(part.name)
    case = ET.Element("testcase", classname=one_line(report.assignment), name=name)
    ET.SubElement(
        case,
        "skipped",
        message=f"pending, {points_text(part.max_points)}: a person marks it "
        f"({one_line(part.found)})",
    )
    properties = {"title": one_line(part.title), "max_points": number_text(part.max_points)}
    return _filled(ET.Element("testsuite", name=name), report, properties, [case])


def _filled(
    suite: ET.Element, report: Report, properties: dict[str, str], cases: list[ET.Element]
) -> ET.Element:
    """Return the suite with its cases, their sums, and what is to know of it and of the report."""
    suite.set("timestamp", one_line(report.started_at))
    suite.attrib |= _sums(cases)
    whole = {
        "total_score": "" if report.score is None else number_text(report.score),
        "total_max_score": number_text(report.max_score),
        "submission_digest": one_line(report.submission_digest),
    }
    element = ET.SubElement(suite, "properties")
    for name, value in {**properties, **whole}.items():
        ET.SubElement(element, "property", name=name, value=value)
    suite.extend(cases)
    return suite


def _case(report: Report, part: PartResult, test: TestResult) -> ET.Element:
    classname = f"{one_line(report.assignment)}.{one_line(part.name)}"
    case = ET.Element("testcase", classname=classname, name=one_line(test.sentence))
    if test.verdict is Verdict.ACCEPTED:
        return case
    kind = "skipped" if is_missing(part) else _ELEMENTS.get(test.verdict, "failure")
    finding = ET.SubElement(case, kind, type=test.verdict.value, message=one_line(test.message))
    where = f" ({one_line(test.where)})" if test.where else ""
    # Some CI systems print it.
    finding.text = disarm(f"{one_line(test.message)}{where}\n{_points(test)}")
    if test.detail:
        ET.SubElement(case, "system-out").text = "\n".join(map(disarm, visible_lines(test.detail)))
    return case


def _points(test: TestResult) -> str:
    if test.verdict is Verdict.SKIPPED:
        return f"not run: {points_text(test.max_points)}"
    return f"{number_text(test.points)} of {points_text(test.max_points)}"


def _whole(part: PartResult) -> TestResult:
    return TestResult(
        part.name, part.title, part.verdict, part.points, part.max_points, part.message
    )


def _sums(elements: list[ET.Element]) -> dict[str, str]:
    """Return how many cases there are in these elements, and how they ended."""
    cases = [case for element in elements for case in element.iter("testcase")]
    ended = [finding.tag for case in cases for finding in case]
    return {
        "tests": str(len(cases)),
        "failures": str(ended.count("failure")),
        "errors": str(ended.count("error")),
        "skipped": str(ended.count("skipped")),
    }
