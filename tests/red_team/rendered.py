"""Whether every form of a report is safe to open, whatever the submission put into it."""

import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from grader.model.report import PartResult, Report, TestResult, Verdict, Versions
from grader.report import json_report, markdown, terminal
from grader.report.export import junit

_STEERING = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode's categories of what is not shown: control, format, half characters, line ends."""
_OUR_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COMMAND = re.compile(r"^\s*::|##\[|##vso\[|##teamcity\[", re.MULTILINE)
_OUR_TAGS = re.compile(
    r"<details><summary>[a-z0-9, -]+</summary>|</details>|<br>|<!-- [a-z0-9 -]+ -->"
)
_FORMULA = re.compile(r"^[=+@\t\r-].*[(|!]")


def report_of_one_test(
    message: str,
    detail: str = "",
    *,
    verdict: Verdict = Verdict.RUN_TIME_ERROR,
    points: float = 0,
    part: str = "naive_allreduce",
) -> Report:
    """Return a report that says this, to see what is found in it."""
    result = (verdict, points, 15.0, message)
    test = TestResult("test_it", "It is right.", *result, detail=detail)
    return Report(
        assignment="mpi_sgd",
        title="Training",
        submission=".",
        submission_digest="0" * 64,
        mode="container",
        parts=(PartResult(part, "Naive all-reduce", *result, (test,)),),
        manual_parts=(),
        versions=Versions("1", "0" * 64, "course", "0" * 64, "0" * 64, {}),
        wall_time_s=1.0,
        started_at="2026-01-01T00:00:00+00:00",
    )


def unsafe(report: Report) -> Iterator[str]:
    """Yield what in any form of the report would be obeyed by what shows it."""
    for colour in (False, True):
        text = terminal.render(report, colour=colour, width=80, plain=not colour, verbose=True)
        yield from _steering("the terminal report", _OUR_COLOUR.sub("", text))
        yield from _commands("the terminal report", text)
    text = markdown.render(report)
    yield from _steering("the Markdown report", text)
    yield from _commands("the Markdown report", text)
    yield from _markup(text)
    yield from _junit(junit.render(report))
    text = json_report.render(report)
    if not text.isascii():
        yield "the JSON report is not plain ASCII"


def _steering(what: str, text: str) -> Iterator[str]:
    for char in sorted(set(text) - {"\n"}):
        if unicodedata.category(char) in _STEERING:
            yield f"{what} holds the character U+{ord(char):04X}"


def _commands(what: str, text: str) -> Iterator[str]:
    for found in _COMMAND.finditer(text):
        yield f"{what} holds a command to a CI runner: {text[found.start() :][:60]!r}"


def _markup(text: str) -> Iterator[str]:
    """Yield tags and links of a Markdown text that are neither ours, escaped nor quoted."""
    fence = ""
    for line in text.splitlines():
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            # Only a line of at least as many of the same signs, and nothing else, ends the quote.
            if opening and line.strip() == opening[1] and opening[1].startswith(fence):
                fence = ""
            continue
        if opening:
            fence = opening[1]
            continue
        bare = re.sub(r"\\.", "", re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", _OUR_TAGS.sub("", line)))
        for sign, name in (("<", "markup"), ("![", "an image"), ("](", "a link")):
            if sign in bare:
                yield f"the Markdown report holds {name}: {line[:80]!r}"
    if fence:
        yield "the Markdown report ends inside a quote"


def _junit(text: str) -> Iterator[str]:
    try:
        ET.fromstring(text)
    except ET.ParseError as error:
        yield f"the JUnit report is no XML: {error}"
    yield from _steering("the JUnit report", text)
    for name in re.findall(r'(?:name|classname)="([^"]*)"', text):
        if _FORMULA.match(name):
            yield f"the JUnit report names a test like a formula: {name!r}"
