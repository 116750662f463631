"""The terminal report: golden pages, and what must hold for every report."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from grader.model.report import HandedInFile, Report
from grader.report import html, markdown, terminal

from . import example, hostile
from .golden_files import assert_golden
from .harmless import assert_terminal

COLOUR = re.compile(r"\x1b\[[0-9;]+m")


def render(report: Report, **options) -> str:
    return terminal.render(report, **{"colour": False, "plain": False, "width": 80, **options})


@pytest.mark.parametrize(
    ("report", "options", "name"),
    [
        (example.usual, {}, "usual.txt"),
        (example.usual, {"plain": True, "verbose": True}, "usual_plain_verbose.txt"),
        (example.usual, {"colour": True, "width": 100}, "usual_colour_100.txt"),
        (example.every_verdict, {"plain": True}, "every_verdict_plain.txt"),
        (example.full_marks, {}, "full_marks.txt"),
    ],
)
def test_the_page_is_the_golden_one(report, options, name):
    """Rewrite with GRADER_WRITE_GOLDEN=1, then read the difference."""
    assert_golden(render(report(), **options), f"terminal_{name}")


def test_colour_adds_nothing_but_colour():
    """Without its escapes the coloured page is the other one."""
    coloured = render(example.every_verdict(), colour=True)
    assert COLOUR.search(coloured)
    assert COLOUR.sub("", coloured) == render(example.every_verdict())


def test_plain_is_ascii_without_colour_and_says_the_same():
    """The plain page is the other one with ASCII signs; `colour` changes nothing."""
    plain = render(example.every_verdict(), plain=True, colour=True)
    assert plain.isascii()
    assert plain == render(example.every_verdict()).translate(str.maketrans("✓✗○│", "+xo|"))


def test_causes_come_costliest_first_and_every_part_is_in_the_table():
    """A cause counts with what it kept from being run."""
    report = example.every_verdict()
    page = render(report, plain=True)
    prices = [float(each) for each in re.findall(r"(?:costs|withholds) ([\d.]+) of", page)]
    assert prices == sorted(prices, reverse=True)
    table = page.split("\n\n")[-1]
    assert all(part.name[:20] in table for part in report.parts if part.tests)
    assert "missing: missing.py was not handed in" in page or "not handed in" in table


def test_what_may_be_meant_by_a_file_is_told_below_the_table():
    """A message that names no file of the hand-in says no more than the table."""
    report = example.every_verdict()
    *others, missing = report.parts
    hint = "missing.py was not handed in. Is misssing.py meant to be missing.py? If so, rename it"
    files = tuple(HandedInFile(name, "", False, "") for name in ("misssing.py", "ssing.py"))
    hinted = replace(report, files=files, parts=(*others, replace(missing, message=hint)))
    assert f"  missing: {hint[:40]}" in render(hinted)
    assert "  missing: " not in render(replace(report, files=files))
    assert "  missing: missing.py was not handed in" in render(replace(report, parts=(missing,)))


def test_what_was_not_run_is_a_line_of_what_kept_it():
    """The names of the checks are for --verbose."""
    page = render(example.usual())
    assert "None of the 5 checks passed." in page
    assert "Each rank sends to one neighbour only." not in page
    assert "Each rank sends to one neighbour only." in render(example.usual(), verbose=True)


def test_one_cause_is_told_once():
    """Two checks that failed of one deadlock, on 3 and on 4 ranks, are one block."""
    page = render(example.usual())
    assert page.count("wait for each other") == 1
    assert "ring_allreduce  deadlock  costs 25 of 25 points" in page


def test_no_score_is_no_zero():
    """When the grader failed, the page says so and gives no total."""
    page = render(example.every_verdict())
    assert "No score: the grader failed on broken." in page
    assert "- / 5" in page


def test_questions_alone_have_no_points_to_pass():
    """As with --part and the name of a question: 0 of 0 points would be no information."""
    (first, *_) = example.usual().manual_parts
    asked = replace(example.usual(), is_recognised=False, parts=(), notes=(), manual_parts=(first,))
    page = " ".join(render(asked).split())
    assert f"No checks ran in mpi_sgd: your instructor grades {first.name}." in page
    points = f"{first.max_points:g} points are graded by hand"
    for text in (page, html.render(asked), markdown.render(asked).replace("\\", "")):
        assert "0 of 0" not in text and "passed" not in text
        assert points in text and "The parts" not in text and "| Part |" not in text


def test_commands_can_be_copied():
    """Folder names are quoted for the shell; the worst test alone can be run again.

    What is mounted in a container has no name here.
    """
    page = render(example.every_verdict())
    assert """grade run 'group 17/it'"'"'s here' --assignment all_verdicts --part slow""" in page
    mounted = example.replace(example.every_verdict(), submission="/submission", image="cs336")
    image = 'docker run --rm --network none -v "$PWD:/submission:ro" cs336 check /submission'
    assert f"{image} --assignment all_verdicts --part slow" in render(mounted)
    again = "grade check handin --part sync_collective --only equals_serial_training\n"
    assert again in render(example.usual())


def test_a_course_that_was_named_is_named_again():
    """Without it, another command would not know the assignment."""
    named = example.replace(example.usual(), course_folder="../my course")
    assert "grade --course '../my course' check handin --part sync_ring\n" in render(named)
    by_image = example.replace(named, mode="container", image="cs336")
    again = "grade --course '../my course' run handin --image cs336 --part sync_ring\n"
    assert again in render(by_image, width=100)
    copied = example.replace(by_image, is_recognised=False, named="cs336/sgd")
    assert "--image cs336 --assignment cs336/sgd --part sync_ring\n" in render(copied, width=100)


def test_whoever_handed_it_in_can_type_the_command():
    """In their folder: neither the course's nor its images are there."""
    theirs = example.replace(
        example.every_verdict(), course_folder="course", image="cs336", is_for_owner=True
    )
    page = render(theirs)
    assert "again:  grade check . --assignment all_verdicts --part slow" in page
    assert "cs336" not in page and "grade run" not in page


@pytest.mark.parametrize("text", hostile.TEXTS)
@pytest.mark.parametrize("plain", [False, True])
def test_nothing_hostile_reaches_the_terminal(text, plain):
    """Only printable characters and line feeds; no CI command; no line over the width."""
    assert_terminal(hostile.everywhere(text), plain=plain)
    assert_terminal(hostile.everywhere(text), plain=plain, verbose=True)


@given(hostile.reports)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_report_can_be_read(report):
    """The page is harmless whatever the report holds, at several widths."""
    for width in (20, 50, 80, 120):
        assert_terminal(report, width, verbose=width == 120)
        page = render(report, width=width)
        assert all(part.name[:20] in page for part in report.parts if part.tests)


def test_escapes_are_shown():
    """What was escaped stays readable."""
    page = render(hostile.everywhere("\x1b[31mred \u202eback \x00 ##[error]x ::error::y"))
    for shown in (r"\x1b[31mred", r"\u202eback", r"\x00", r"\x23#[error]x"):
        assert shown in page


def test_long_output_is_cut_and_counted():
    """The end of an output is kept; how much came before is said."""
    page = render(example.every_verdict())
    assert "(35 earlier lines)" in page
    assert "more characters)" in render(hostile.everywhere("x" * 9000))
    assert "earlier lines" not in render(example.every_verdict(), verbose=True)
