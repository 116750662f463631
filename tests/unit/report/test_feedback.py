"""What is held back from students is in no format, and all of it in the full report."""

import json
from dataclasses import replace

import pytest

from grader.model.finding import Finding
from grader.model.report import Feedback, Report, TestResult, Verdict
from grader.report import json_report, terminal
from grader.report.export.formats import FORMATS
from grader.report.feedback import for_student, result_for_student
from grader.report.live import failure_lines
from grader.report.terminal_page import Page

from . import example, hostile

WRITTEN = {
    **{name: chosen.render for name, chosen in FORMATS.items()},
    "terminal": lambda report: terminal.render(
        for_student(report), colour=False, width=80, plain=True, verbose=True
    ),
    "live": lambda report: "\n".join(
        line
        for part in report.parts
        for test in part.tests
        for line in failure_lines(Page(False, True, 100, True), part.name, result_for_student(test))
    ),
}
SENTENCE, VALUE, PRINTED, LINE = "askedfor", "drawnvalue", "printedtext", "studentsline"


def held(level: Feedback, verdict: Verdict = Verdict.WRONG_ANSWER, **more: object) -> Report:
    """Return a report of one test, in which each level of feedback has a word of its own."""
    test = TestResult(
        "test_a_name",
        f"It is {SENTENCE}.",
        verdict,
        0,
        4,
        f"recv is {VALUE}",
        f"last output of rank 0:\n{PRINTED}",
        f"x={VALUE}",
        findings=(Finding("recv.wrong", f"recv is {VALUE}", {"value": VALUE}, f"not {VALUE}"),),
        evidence=hostile.filled(example.seen(), LINE),
        feedback=level,
        **more,
    )
    why = f"graded again with ours, because yours failed: recv is {VALUE}"
    note = Finding("note.graded_again", why, {"value": VALUE})
    part = replace(example.part("ring", "A ring", test), notes=(note,))
    return replace(example.usual(), parts=(part,))


TOLD_FROM = {
    SENTENCE: Feedback.SENTENCE,
    VALUE: Feedback.VALUES,
    PRINTED: Feedback.ALL,
    LINE: Feedback.ALL,
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("level", Feedback)
def test_no_format_tells_more_than_its_level(level, written):
    """Not in a message, a note, a place or a picture."""
    text = WRITTEN[written](held(level))
    for word, least in TOLD_FROM.items():
        if not level.tells(least):
            assert word not in text, (level, word)


@pytest.mark.parametrize("level", Feedback)
def test_all_of_the_level_is_told(level):
    """The student's JSON has each word from its level on."""
    text = FORMATS["json"].render(held(level))
    assert {word for word in TOLD_FROM if word in text} == {
        word for word, least in TOLD_FROM.items() if level.tells(least)
    }


@pytest.mark.parametrize("level", Feedback)
def test_points_and_verdicts_are_never_held_back(level):
    """Nor do they change."""
    full, shown = held(level), for_student(held(level))
    assert (shown.score, shown.max_score) == (full.score, full.max_score)
    assert shown.parts[0].tests[0].verdict is full.parts[0].tests[0].verdict
    assert shown.parts[0].verdict is full.parts[0].verdict


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.JUDGE_ERROR])
@pytest.mark.parametrize("is_hidden", [False, True])
def test_each_verdict_is_held_back(verdict, is_hidden):
    """Also that of a hidden test, whose words are those of `redacted`."""
    (test,) = for_student(held(Feedback.VERDICT, verdict, is_hidden=is_hidden)).parts[0].tests
    told = json.dumps([test.sentence, test.message, test.where, test.detail])
    assert not [word for word in TOLD_FROM if word in told]
    assert "a name" in test.sentence
    assert test.sentence.startswith("a hidden check: ") is is_hidden


def test_a_hidden_test_may_tell_what_it_asks_for():
    """The level of hidden tests is the course's to choose."""
    (test,) = for_student(held(Feedback.SENTENCE, is_hidden=True)).parts[0].tests
    assert SENTENCE in test.sentence
    assert test.message == "WRONG_ANSWER"
    assert test.is_hidden


def test_the_level_of_a_hidden_test_takes_no_notes_away():
    """Notes are about visible tests."""
    part = held(Feedback.ALL).parts[0]
    hidden = replace(part.tests[0], is_hidden=True, feedback=Feedback.VERDICT, message="another")
    report = replace(held(Feedback.ALL), parts=(replace(part, tests=(*part.tests, hidden)),))
    assert for_student(report).parts[0].notes == part.notes


@pytest.mark.parametrize("report", [example.usual(), example.every_verdict()])
def test_without_levels_nothing_is_held_back(report):
    """A course that says nothing has its students told all."""
    assert for_student(report) == report


@pytest.mark.parametrize("level", Feedback)
def test_what_a_student_may_see_stays_so(level):
    """Applying it twice changes nothing, also after a way through JSON."""
    shown = for_student(held(level))
    assert for_student(shown) == shown
    assert for_student(json_report.parse(json_report.render(shown))) == shown
