"""What is said of the files that a person will mark."""

import io
from pathlib import Path

import pytest
from msgspec import structs
from pypdf import PdfWriter

from grader.course.assignment import Assignment
from grader.course.assignment_file import Manual
from grader.intake import manual
from grader.intake.placement.table import place
from grader.intake.submission import of_files
from grader.recording.journal import Journal

TIMES = Manual("times", "Times", 3, "report.pdf", other_names=("hw3.pdf",), max_pages=5)


def pdf(num_pages: int) -> bytes:
    buffer = io.BytesIO()
    writer = PdfWriter()
    for _ in range(num_pages):
        writer.add_blank_page(100, 100)
    writer.write(buffer)
    return buffer.getvalue()


def said_of(files: dict[str, bytes], *questions: Manual, **not_read: str) -> list[str]:
    asked = Assignment("a", "A", Path("nowhere"), (), (), questions)
    unread = {f"{name}.pdf": reason for name, reason in not_read.items()}
    placed = place(of_files("here", files, unread), asked)
    found = manual.manual_parts(placed, asked.manual, None, Journal())
    return [each.found for each in found]


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "neither report.pdf nor hw3.pdf was handed in"),
        ({"hw3.pdf": pdf(1)}, "hw3.pdf, 1 page"),
        ({"hw3.pdf": pdf(1), "report.pdf": pdf(5)}, "report.pdf, 5 pages"),
        ({"report.pdf": pdf(6)}, "report.pdf, 6 pages; the limit is 5"),
        ({"report.pdf": b"PK"}, "report.pdf cannot be read as a PDF"),
        ({"a/b/Report (1).pdf": pdf(1)}, "a/b/Report (1).pdf, 1 page"),
        ({"code.zip/hw3.pdf": pdf(1), "b/report_final.pdf": pdf(2)}, "code.zip/hw3.pdf, 1 page"),
    ],
)
def test_names_and_pages(files, text):
    """The first of its names counts, and pages beyond those that are read are told."""
    assert said_of(files, TIMES) == [text]


def test_a_report_that_was_not_read_says_why():
    """Unless another one was."""
    (said,) = said_of({}, TIMES, report="is larger than 32 MiB")
    assert "report.pdf" in said and "is larger than 32 MiB" in said
    (said,) = said_of({"hw3.pdf": pdf(1)}, TIMES, report="is larger than 32 MiB")
    assert said == "hw3.pdf, 1 page"


def test_where_nothing_else_is_said():
    """One name, any number of pages."""
    question = Manual("times", "Times", 3, "report.pdf")
    assert said_of({}, question) == ["report.pdf was not handed in"]
    assert said_of({"report.pdf": pdf(9)}, question) == ["report.pdf, 9 pages"]


def test_a_file_of_several_questions_is_read_once(monkeypatch):
    """Each has limits of its own."""
    read = []

    def count_pages(content, file, uid):
        read.append(file)
        return 3

    monkeypatch.setattr(manual.intake, "count_pages", count_pages)
    why = structs.replace(TIMES, name="why", max_pages=2)
    assert said_of({"hw3.pdf": b""}, TIMES, why) == [
        "hw3.pdf, 3 pages",
        "hw3.pdf, 3 pages; the limit is 2",
    ]
    assert read == ["hw3.pdf"]
