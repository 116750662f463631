"""Asserts that a report, as its reader's program takes it, does nothing but show text."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader.model.report import Report
from grader.report import html, json_report, markdown, terminal
from grader.report.causes import costliest_first, is_missing
from grader.report.export import junit
from grader.report.terminal_page import num_columns

COMMAND_PREFIXES = ("  again:  ", "  look:   ")
OUR_HTML = re.compile(
    r"(<details><summary>"
    r"(traceback|detail|other findings|last output of ranks? [0-9, and-]+)</summary>"
    r"|</details>)\n?"
)
OUR_INLINE = {"text", "text_special", "strong_open", "strong_close", "code_inline", "softbreak"}
OUR_CODE = re.compile(r"[@#!$%~&^:/-]+|[0-9a-f]{12}")
REFERENCE = re.compile(r"[@#!$%~&^][\w\"]|://|@|GH-\d")
"""What GitHub and GitLab look for in text once the Markdown is HTML."""


def assert_no_command(line: str) -> None:
    """Assert that neither a terminal nor a CI runner obeys this line of a log."""
    assert line.isprintable(), repr(line)
    assert not line.lstrip().startswith("::"), line
    assert "##[" not in line and "##vso[" not in line and "##teamcity[" not in line, line


def assert_terminal(report: Report, width: int = 80, **options: bool) -> None:
    """Assert that the page is lines of visible text, none wider than the terminal."""
    page = terminal.render(
        report, width=width, **{"colour": False, "plain": False, "verbose": False, **options}
    )
    for line in page.split("\n"):
        assert_no_command(line)
        assert line.startswith(COMMAND_PREFIXES) or num_columns(line) <= max(width, 50), line


def assert_json(report: Report) -> None:
    """Assert that the text is data, on a web page and in a log as well."""
    text = json_report.render(report)
    assert text.isascii()
    for line in text.split("\n"):
        assert_no_command(line)
    assert json_report.render(json_report.parse(text)) == text
    page = _Page()
    page.feed(f"<p></p><script type='application/json'>{text}</script><p></p>")
    assert page.tags == ["p", "script", "p"]
    assert json.loads(page.script) == json.loads(text)


class _Page(HTMLParser):
    """A web page that holds the report as its data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.script = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.script += data


def assert_junit(report: Report) -> None:
    """Assert that the XML is whole, has our elements only, and holds visible text."""
    text = junit.render(report)
    assert text.isascii()
    for line in text.split("\n"):
        assert_no_command(line)
    root = ET.fromstring(text)
    ours = {"testsuites", "testsuite", "properties", "property", "testcase"}
    ours |= {"failure", "error", "skipped", "system-out"}
    assert {element.tag for element in root.iter()} <= ours
    assert len(root.findall("testsuite")) == len(report.parts) + len(report.manual_parts)
    for element in root.iter():
        for value in (element.text or "", *element.attrib.values()):
            assert value.replace("\n", "").isprintable()


def assert_markdown(report: Report) -> None:
    """Assert that a real parser finds our structure in the page, and all else as text."""
    text = markdown.render(report)
    for line in text.split("\n"):
        assert_no_command(line)
    tokens = tokens_of(text)
    lines = text.split("\n")
    for token in tokens:
        # GitLab takes `/close` for an order, but not in code.
        if token.map and token.type != "fence":
            assert not any(re.match(r"\s*/\w", line) for line in lines[slice(*token.map)]), lines
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings.count("h2") == 1
    assert set(headings) <= {"h2", "h3"}
    told = [cause for part, cause in costliest_first(report) if not is_missing(part)]
    assert headings.count("h3") == len(told)
    tables = ((*report.parts, *report.questions), report.manual_parts)
    rows = sum(1 + len(each) for each in tables if each)
    assert [token.type for token in tokens].count("tr_open") == rows
    for token in tokens:
        assert token.type not in ("code_block", "blockquote_open", "hr", "ordered_list_open"), token
        if token.type == "html_block":
            assert all(OUR_HTML.fullmatch(line + "\n") for line in token.content.splitlines()), (
                token
            )
        if token.children:
            _assert_plain(token.children)


def _assert_plain(children: list[Token]) -> None:
    """Assert that a paragraph is text without markup, of which nothing becomes a reference."""
    text = ""
    for child in children:
        assert child.type in OUR_INLINE, child
        if child.type == "code_inline":
            assert OUR_CODE.fullmatch(child.content), child
            text += " "
        else:
            text += child.content or "\n"
    assert not REFERENCE.search(text), text


def tokens_of(text: str) -> list[Token]:
    """Return what a Markdown parser with tables and strikethrough finds."""
    parser = MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])
    return parser.parse(text)


_HTML_TAGS = """
a b body caption circle code defs details div fieldset figcaption figure footer
g h1 h2 h3 head header html input label legend li line main marker meta p path
pre rect section span style summary svg table tbody td text th thead title tr u ul wbr
"""
_HTML_ATTRIBUTES = """
aria-hidden aria-label aria-labelledby charset checked class content cx cy d for
height href http-equiv id lang marker-end markerheight markerunits markerwidth
name open orient r refx refy role scope stroke-width tabindex text-anchor type
viewbox width x x1 x2 y y1 y2
"""


def assert_html(report: Report) -> None:
    """Assert that the page has our elements and attributes only, and shows visible text."""
    text = html.render(report)
    page = _Document()
    page.feed(text)
    page.close()
    assert not page.tags - set(_HTML_TAGS.split())
    assert not page.attributes - set(_HTML_ATTRIBUTES.split())
    assert all(re.fullmatch(r"#(main|cause-\d+)", each) for each in page.addresses), page.addresses
    assert page.num_styles == 1
    assert text.index("Content-Security-Policy") < text.index("<style>")
    for shown in page.texts:
        assert shown.isprintable(), repr(shown)


class _Document(HTMLParser):
    """What the page consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self.num_styles = 0
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        self.texts += [value or "" for _, value in attrs]
        self._is_style = tag == "style"
        self.num_styles += self._is_style

    def handle_endtag(self, tag: str) -> None:
        self._is_style = False

    def handle_data(self, data: str) -> None:
        if not self._is_style and data != "\n":
            self.texts.append(data)
