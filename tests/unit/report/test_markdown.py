"""The Markdown report: a real parser finds our structure in it, and hostile text only as text."""

import pytest
from hypothesis import given, settings

from grader.report import markdown

from . import example, hostile
from .golden_files import assert_golden
from .harmless import assert_markdown, tokens_of


def test_the_text_is_the_golden_one():
    """Rewrite with GRADER_WRITE_GOLDEN=1, then read the difference."""
    assert_golden(markdown.render(example.every_verdict()), "every_verdict.md")


def test_the_table_names_every_part_in_the_order_of_the_handout():
    """Name, verdict and points of each part stand in one row."""
    table = [
        line for line in markdown.render(example.usual()).splitlines() if line.startswith("| ")
    ]
    assert [row.split(" | ")[2:] for row in table[1:6]] == [
        ["crash", "2 of 15 |"],
        ["passed", "15 of 15 |"],
        ["deadlock", "0 of 25 |"],
        ["not run", "13 of 15 |"],
        ["not written", "0 of 30 |"],
    ]


def test_the_total_stands_on_top():
    """Score, what is pending, and no number where there is no score."""
    assert markdown.render(example.usual()).splitlines()[2] == (
        r"**30 of 100 points in mpi\_sgd \(recognised by its files\)\. "
        r"Local check, not your mark\. "
        r"10 more are graded by hand \(report\.pdf, 3 pages\)\.**"
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
    assert f"{message}." in shown


@given(hostile.reports)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_every_report_has_only_our_structure(report):
    """Whatever a report holds, the parser finds the same structure as for a harmless one."""
    assert_markdown(report)


@pytest.mark.parametrize("text", ["```", "````\n`````", "~~~", "`", "``` `````` ```"])
def test_no_content_closes_its_fence(text):
    """Output is one code block, whatever backticks it holds."""
    tokens = tokens_of(markdown.render(hostile.everywhere(text)))
    blocks = [token.content for token in tokens if token.type == "fence" and token.info == "text"]
    assert f"{text}\n" in blocks
    assert_markdown(hostile.everywhere(text))


def test_a_summary_that_would_be_too_long_is_the_table_alone():
    """GitHub refuses more than 1 MiB; verdicts, points and what a person marks stay."""
    lost = hostile.everywhere("\n".join(["🙈" * 399] * 200)).parts[0]
    report = example.replace(example.usual(), parts=(lost,) * 8)
    text = markdown.render(report)
    assert len(text.encode()) < 1_000_000
    assert "too long to show here" in text
    assert text.count("| wrong answer | 0 of 3 |") == 8
    assert "Run time and accuracy" in text
