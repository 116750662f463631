"""The Markdown report: a real parser finds our structure in it, and hostile text only as text."""

import re

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from grader.model import Report
from grader.report import markdown

from . import example, hostile
from .golden_files import assert_golden

OURS = re.compile(
    r"(<details><summary>(traceback|detail|last output of ranks? [0-9, and-]+)</summary>"
    r"|</details>)\n?"
)
OUR_INLINE = {"text", "text_special", "strong_open", "strong_close", "code_inline", "softbreak"}
MENTIONS = re.compile("@+")
DIGESTS = re.compile("[0-9a-f]{12}")


def tokens_of(text: str) -> list[Token]:
    parser = MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])
    return parser.parse(text)


def test_the_text_is_the_golden_one():
    """Rewrite with GRADER_WRITE_GOLDEN=1, then read the difference."""
    assert_golden(markdown.render(example.every_verdict()), "every_verdict.md")


def test_the_table_names_every_part_the_worst_first():
    """Name, verdict and points of each part stand in one row."""
    table = [
        line for line in markdown.render(example.usual()).splitlines() if line.startswith("| ")
    ]
    assert [row.split(" | ")[2:] for row in table[1:6]] == [
        ["DEADLOCK", "0 of 25 |"],
        ["RUN_TIME_ERROR", "2 of 15 |"],
        ["SKIPPED", "13 of 15 |"],
        ["NOT_ATTEMPTED", "0 of 30 |"],
        ["ACCEPTED", "15 of 15 |"],
    ]


def test_the_total_stands_on_top():
    """Score, what is pending, and no number where there is no score."""
    assert markdown.render(example.usual()).splitlines()[2] == (
        r"**Score 30 of 100\. Pending\: 10 points, which a person gives\.**"
    )
    assert "No score" in markdown.render(example.every_verdict()).splitlines()[2]


def test_messages_read_as_they_were():
    """Escapes are gone once rendered: the sentence is the message."""
    message = example.every_verdict().parts[5].message
    shown = [
        "".join(child.content for child in token.children)
        for token in tokens_of(markdown.render(example.every_verdict()))
        if token.type == "inline"
    ]
    assert message in shown


@pytest.mark.parametrize("text", hostile.TEXTS)
def test_hostile_texts_stay_text(text):
    """No HTML, link, image, heading, table cell or CI command of theirs."""
    assert_only_ours(hostile.everywhere(text))


@given(hostile.reports)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_every_report_has_only_our_structure(report):
    """Whatever a report holds, the parser finds the same structure as for a harmless one."""
    assert_only_ours(report)


@pytest.mark.parametrize("text", ["```", "````\n`````", "~~~", "`", "``` `````` ```"])
def test_no_content_closes_its_fence(text):
    """Output is one code block, whatever backticks it holds."""
    tokens = tokens_of(markdown.render(hostile.everywhere(text)))
    blocks = [token.content for token in tokens if token.type == "fence" and token.info == "text"]
    assert blocks
    assert set(blocks) == {f"{text}\n"}


def test_a_summary_that_would_be_too_long_is_the_table_alone():
    """GitHub refuses more than 1 MiB; verdicts, points and what a person marks stay."""
    lost = hostile.everywhere("\n".join(["🙈" * 399] * 200)).parts[0]
    report = example.replace(example.usual(), parts=(lost,) * 20)
    text = markdown.render(report)
    assert len(text.encode()) < 1_000_000
    assert "too long to be shown here" in text
    assert text.count("| WRONG_ANSWER | 0 of 3 |") == 20
    assert "Run time and accuracy" in text


def assert_only_ours(report: Report) -> None:
    text = markdown.render(report)
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)
        assert not re.match(r"\s*(::|/\w)", line), line
        assert "##[" not in line and "##vso[" not in line and "##teamcity[" not in line, line
    tokens = tokens_of(text)
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings.count("h2") == 1
    assert set(headings) <= {"h2", "h3"}
    parts_told = [
        part for part in report.parts if part.verdict not in ("ACCEPTED", "NOT_ATTEMPTED")
    ]
    assert headings.count("h3") == len(parts_told)
    rows = 1 + len(report.parts) + (1 + len(report.manual_parts) if report.manual_parts else 0)
    assert [token.type for token in tokens].count("tr_open") == rows
    for token in tokens:
        assert token.type not in ("code_block", "blockquote_open", "hr", "ordered_list_open"), token
        if token.type == "html_block":
            assert all(OURS.fullmatch(line + "\n") for line in token.content.splitlines()), token
        for child in token.children or ():
            assert child.type in OUR_INLINE, child
            if child.type == "code_inline":
                assert MENTIONS.fullmatch(child.content) or DIGESTS.fullmatch(child.content)
            else:
                assert "@" not in child.content, child
