"""What platforms are given: files as they describe them, and never a zero for no mark."""

import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator, ValidationError

from grader.commands import arguments
from grader.commands.reporting import export, finish
from grader.model.errors import GraderError, UsageError
from grader.model.finding import Finding
from grader.model.points import NOT_ALL_TESTS
from grader.model.report import Feedback, PartResult, Report, TestResult, Verdict
from grader.report import json_report, terminal
from grader.report.causes import causes
from grader.report.export import annotations, formats
from grader.report.export.formats import FORMATS
from grader.report.feedback import for_student
from grader.report.files import remains
from grader.report.words import VERDICT_WORDS, again

from . import example, hostile
from .harmless import assert_no_command

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = Path(__file__).parent / "platforms"
REFUSING = ("artemis", "classroom50", "gradescope")
"""Platforms that would take any file for a mark."""
IDENTITY = {
    "classroom": "systems",
    "assignment": "rings",
    "submission": "submit/2026-03-02T01-58-11Z-abc1234",
    "commit": "https://example.org/commit/abc",
    "release": "https://example.org/releases/abc",
    "review": "https://example.org/compare/abc",
}
SECRET_VALUE = "0.8414709848"
HIDDEN = TestResult(
    "test_other_length",
    f"Of length {SECRET_VALUE} too.",
    Verdict.WRONG_ANSWER,
    0,
    2.5,
    f"3 ranks: recv[0] is {SECRET_VALUE} at ring.py:7",
    f"last output of rank 0:\n{SECRET_VALUE}",
    SECRET_VALUE,
    is_hidden=True,
    feedback=Feedback.VERDICT,
)


def valid(name: str, data: object) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(data)


def rendered(name: str, report: Report, *, is_full: bool = False) -> str:
    """Return an export, which holds to the description of its platform."""
    text = FORMATS[name].render(report, is_full=is_full)
    for line in text.split("\n"):
        if name != "github":
            assert_no_command(line)
    assert text.isascii() or name in ("github", "html", "markdown")
    if name in ("gradescope", "prairielearn", "gitlab"):
        valid(name, json.loads(text))
    if name == "classroom50":
        valid(name, {**json.loads(text), **IDENTITY})
    return text


def marked(*parts: PartResult) -> Report:
    return replace(example.usual(), parts=parts or example.usual().parts)


def of(test: TestResult) -> Report:
    return marked(example.part("ring", "A ring", test))


def without_mark(verdict: Verdict) -> Report:
    test = TestResult("test_a", "It is right.", verdict, 0, 4, "because")
    return marked(*example.usual().parts, example.part("broken", "Broken", test))


def as_artemis(text: str) -> tuple[dict[str, str], set[str]]:
    """Return what fails with its message, and what holds, the way Artemis' parser goes about it."""
    failed, passed = {}, set()
    for case in ET.fromstring(text).iter("testcase"):
        name, failure = case.get("name"), case.find("failure")
        if case.find("error") is not None:
            failure = case.find("error")
        if case.find("skipped") is not None:
            continue
        if failure is None:
            passed.add(name)
        else:
            assert name not in failed
            failed[name] = failure.get("message") or failure.text or ""
    return failed, passed


def test_options_and_formats_agree():
    """The help of --export names formats that there are; all others have options of their own."""
    assert set(FORMATS) - set(arguments.PLATFORMS) == {"html", "json", "junit", "markdown"}
    with pytest.raises(UsageError, match=r"'gradscope'; known: artemis.* Did you mean gradescope"):
        formats.named("gradscope")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("report", [example.usual, example.full_marks, example.small])
def test_each_export_is_as_its_platform_describes_it(name, report):
    """Of reports with a mark, whatever their verdicts."""
    has_findings = report is not example.full_marks
    assert bool(rendered(name, report())) is (has_findings or name != "github")


WRONG = {
    "classroom50": [
        lambda data: data.update(schema="classroom50/result/v2"),
        lambda data: data.update(score=2.5),
        lambda data: data.pop("release"),
        lambda data: data["tests"][0].update(passed="yes"),
    ],
    "gitlab": [
        lambda data: data[0].update(severity="error"),
        lambda data: data[0].pop("fingerprint"),
        lambda data: data[0]["location"].update(path="./ring.py"),
        lambda data: data[0]["location"].update(lines={"begin": 0}),
    ],
    "gradescope": [
        lambda data: data["tests"][0].update(visibility="after_deadline"),
        lambda data: data["tests"][0].update(status="ok"),
        lambda data: data["tests"][0].update(points=1),
        lambda data: data.update(output_format="markdown"),
        lambda data: (data.pop("score"), data["tests"][0].pop("score")),
    ],
    "prairielearn": [
        lambda data: data.update(score=1.5),
        lambda data: data.pop("score"),
        lambda data: data.update(gradable=False),
        lambda data: data["tests"][0].pop("max_points"),
    ],
}


@pytest.mark.parametrize(
    ("name", "spoil"), [(name, spoil) for name, each in WRONG.items() for spoil in each]
)
def test_a_schema_refuses_what_its_platform_does_not_know(name, spoil):
    data = json.loads(FORMATS[name].render(example.usual()))
    if name == "classroom50":
        data |= IDENTITY
    valid(name, data)
    spoil(data)
    with pytest.raises(ValidationError):
        valid(name, data)


@pytest.mark.parametrize("verdict", [v for v in Verdict if v not in ("JUDGE_ERROR", "NOT_PROVEN")])
@pytest.mark.parametrize("name", FORMATS)
def test_every_verdict_that_is_a_mark_can_be_exported(name, verdict):
    """Also where it is the only one there is."""
    points = 4 if verdict is Verdict.ACCEPTED else 0
    rendered(name, of(TestResult("test_a", "It is right.", verdict, points, 4, "because")))


@pytest.mark.parametrize("verdict", [Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN])
@pytest.mark.parametrize("name", REFUSING)
def test_no_mark_is_no_file(name, verdict):
    """Platforms that know no missing score get nothing that they could take for a zero."""
    with pytest.raises(GraderError, match="so no file was written"):
        FORMATS[name].render(without_mark(verdict))


@pytest.mark.parametrize("name", (*REFUSING, "prairielearn"))
def test_points_of_some_tests_are_no_mark(name):
    """`--only` leaves a report that says so; a platform would show its points as the mark."""
    some = replace(example.full_marks(), notes=(NOT_ALL_TESTS,))
    if name == "prairielearn":
        told = {"gradable": False, "format_errors": [NOT_ALL_TESTS]}
        assert json.loads(rendered(name, some)) == told
        return
    with pytest.raises(GraderError, match=re.escape(NOT_ALL_TESTS)):
        FORMATS[name].render(json_report.parse(json_report.render(some)))


@pytest.mark.parametrize("name", ["gradescope", "prairielearn"])
def test_missing_protections_are_for_the_course_alone(name):
    """A student can add no flag to the container."""
    notes = ("graded without these protections: no network (--network none)", "no report.pdf")
    text = rendered(name, replace(example.full_marks(), notes=notes))
    assert "no report.pdf" in text and "--network none" not in text


def test_where_there_is_no_mark_no_old_file_is_left(tmp_path):
    """What cannot be removed, or is a way to something else, is named."""
    old, link = tmp_path / "results.json", tmp_path / "link"
    old.write_text("old")
    link.symlink_to(old)
    assert remains(link).endswith("still has its previous contents: do not use it")
    assert old.exists()
    assert remains(old) == ""
    assert not old.exists()
    assert remains(old) == ""


@pytest.mark.parametrize("verdict", [Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN])
def test_finish_writes_no_file_without_a_mark(tmp_path, capsys, verdict):
    """The rest is written and shown; the command ends as a failed grading does."""
    file = tmp_path / "results.json"
    file.write_text("old")
    options = ["check", ".", "--export", f"gradescope={file}", "--export", f"junit={tmp_path}/j"]
    parsed = arguments.parser(argparse.Action).parse_args(options)
    with pytest.raises(GraderError, match=r"Gradescope would .* so no file was written"):
        finish(without_mark(verdict), parsed)
    assert not file.exists()
    assert "<testsuite" in (tmp_path / "j").read_text()
    assert "broken" in capsys.readouterr().out


@pytest.mark.parametrize("verdict", [Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN])
def test_prairielearn_is_told_that_it_is_not_gradable(verdict):
    """There it costs neither points nor an attempt."""
    data = json.loads(rendered("prairielearn", without_mark(verdict)))
    assert data["gradable"] is False
    assert "score" not in data
    assert "broken" in data["format_errors"][0]


@pytest.mark.parametrize("verdict", [Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN])
def test_where_there_are_no_scores_a_failed_grader_is_no_fault(verdict):
    """A yellow warning on GitHub, information on GitLab; errors are for lost points."""
    lines = rendered("github", without_mark(verdict)).split("\n")
    assert [line.split(" ")[0] for line in lines].count("::warning") == 1
    words = VERDICT_WORDS[verdict]
    assert lines[0].startswith(f"::warning title=broken%3A {words}%2C ")
    test = TestResult("test_a", "It is right.", verdict, 0, 4, "something at ring.py:7")
    (found,) = json.loads(rendered("gitlab", of(test)))
    assert found["severity"] == "info"


def test_points_add_up_on_every_platform():
    """A part of which no test was run counts as one test; fractions stay exact."""
    missing = PartResult(
        "missing", "Missing", Verdict.NOT_ATTEMPTED, 0, 5, "no missing.py was handed in", ()
    )
    third = example.part(
        "third", "Thirds", example.passed("test_a", "A.", 0.3), example.passed("test_b", "B.", 2.45)
    )
    report = marked(missing, third)
    data = json.loads(rendered("gradescope", report))
    assert data["score"] == sum(test["score"] for test in data["tests"]) == 2.75
    assert sum(test["max_score"] for test in data["tests"]) == report.max_score
    assert data["tests"][0]["name"] == "missing"
    data = json.loads(rendered("classroom50", report))
    assert (data["score"], data["max-score"]) == (55, 155)
    assert [test["score"] for test in data["tests"]] == [0, 6, 49]
    data = json.loads(rendered("prairielearn", report))
    assert data["score"] == pytest.approx(2.75 / 7.75)
    assert sum(test["max_points"] for test in data["tests"]) == 7.75


def test_full_marks_are_all_there_is():
    """Also where there is nothing to be had."""
    assert json.loads(rendered("prairielearn", example.full_marks()))["score"] == 1
    nothing = of(TestResult("test_a", "It is right.", Verdict.ACCEPTED, 0, 0))
    assert json.loads(rendered("prairielearn", nothing))["score"] == 1


def test_gradescope_shows_a_hidden_test_after_the_due_date():
    """With its verdict alone; all about it is for instructors."""
    (test,) = json.loads(rendered("gradescope", of(HIDDEN)))["tests"]
    assert test["visibility"] == "after_due_date"
    assert test["max_score"] == 2.5
    assert SECRET_VALUE not in json.dumps(test)
    (test,) = json.loads(rendered("gradescope", of(HIDDEN), is_full=True))["tests"]
    assert test["visibility"] == "hidden"
    assert SECRET_VALUE in test["output"]
    visible = json.loads(rendered("gradescope", example.usual()))["tests"]
    assert {test["visibility"] for test in visible} == {"visible"}


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_of_a_hidden_test_is_in_an_export(name):
    """Neither what it asks for, nor a value, nor a line, also of a full report."""
    assert SECRET_VALUE not in rendered(name, of(HIDDEN))
    assert "ring.py" not in rendered(name, of(HIDDEN))
    if not FORMATS[name].may_be_full:
        assert SECRET_VALUE not in rendered(name, of(HIDDEN), is_full=True)


def test_artemis_finds_each_test_under_a_name_of_its_own():
    """Failures with all that is told of them; what was not run is left out."""
    failed, passed = as_artemis(rendered("artemis", example.usual()))
    assert "naive_allreduce.test_values" in passed
    assert "sync_ring.test_equals_serial_training" in passed
    told = failed["sync_collective.test_equals_serial_training"]
    assert "every rank holds the weights" in told
    assert "IndexError: list index out of range" in told
    assert not {*failed, *passed} & {"ring_allreduce.test_time"}


def test_findings_are_on_the_students_lines():
    """The line that a message names, else the last of its traceback; the costliest cause first."""
    found = [
        (each["location"]["path"], each["location"]["lines"]["begin"], each["severity"])
        for each in json.loads(rendered("gitlab", example.usual()))
    ]
    assert found == [
        ("async_network.py", 35, "info"),
        ("my_ring_allreduce.py", 41, "critical"),
        ("sync_network_collective.py", 48, "critical"),
    ]
    raised = TestResult(
        "test_a", "", Verdict.RUN_TIME_ERROR, 0, 1, "it raised", detail=example.TRACEBACK
    )
    (found,) = json.loads(rendered("gitlab", of(raised)))
    assert found["location"] == {"path": "sync_network_collective.py", "lines": {"begin": 48}}


@pytest.mark.parametrize(
    "message",
    [
        "at ../../etc/ring.py:3",
        "at /etc/ring.py:3",
        "at ring.py:0000000003",
        "at ring.py,line=9:3",
        "at a%0A::set-output name=x::ring.py\n:3",
        "at x//ring.py:3",
        "at .git/hooks/x.py:3",
    ],
)
def test_no_finding_is_outside_the_submission(message):
    """A path is one of a file below the folder, or there is none."""
    report = of(TestResult("test_a", "", Verdict.WRONG_ANSWER, 0, 1, message))
    for found in json.loads(rendered("gitlab", report)):
        path = Path(found["location"]["path"])
        assert not path.is_absolute()
        assert not any(part.startswith(".") for part in path.parts)
        assert re.fullmatch(r"[\w.-]+", path.name)


def crashed_at(line: int) -> TestResult:
    found = Finding("crash.key_error", "KeyError: 3", {"place": f"ring.py:{line}"})
    verdict = Verdict.RUN_TIME_ERROR
    return TestResult(f"test_{line}", "ends", verdict, 0, 1, found.text, findings=(found,))


def test_no_two_findings_have_one_fingerprint():
    """GitLab shows one of those that share it. Where lines have moved, each keeps its own."""

    def fingerprints(*lines):
        tests = [crashed_at(line) for line in lines]
        report = marked(example.part("ring", "A ring", *tests))
        return [each["fingerprint"] for each in json.loads(rendered("gitlab", report))]

    assert len(set(fingerprints(3, 5, 9))) == 3
    assert fingerprints(3, 5, 9) == fingerprints(13, 15, 19)


def test_a_fingerprint_is_the_same_in_the_next_report():
    """And another for another finding."""
    first, again = (
        [each["fingerprint"] for each in json.loads(rendered("gitlab", example.usual()))]
        for _ in range(2)
    )
    assert first == again
    assert len(set(first)) == len(first)


def test_the_same_words_on_two_lines_are_two_findings():
    report = marked(example.part("ring", "A ring", crashed_at(3), crashed_at(9)))
    found = json.loads(rendered("gitlab", report, is_full=True))
    assert [each["location"]["lines"]["begin"] for each in found] == [3, 9]
    assert len({each["fingerprint"] for each in found}) == 2


def test_github_shows_so_many_of_a_kind():
    """The first ten errors; a warning is never lost among them."""
    tests = [
        TestResult(f"test_{n}", "", Verdict.WRONG_ANSWER, 0, 1, f"{n} is wrong") for n in range(30)
    ]
    doubt = TestResult("test_d", "", Verdict.NOT_PROVEN, 0, 1, "doubtful")
    lines = rendered("github", marked(example.part("p", "P", *tests, doubt))).split("\n")
    assert len(lines) == 11
    assert lines[0].startswith("::warning ")


COMMAND = re.compile(r"::(error|warning|notice) (?:file=[\w./-]+,line=\d+,)?title=[^:,]*::[^\r\n]*")


def assert_annotations(text: str) -> None:
    """Assert that a runner finds our commands in the text, and no others."""
    for line in text.split("\n") if text else ():
        assert COMMAND.fullmatch(line), line
        assert line.isprintable()
        assert "##[" not in line


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
@pytest.mark.parametrize("name", sorted(set(FORMATS) & set(arguments.PLATFORMS)))
def test_no_text_is_active_on_any_platform(name, text):
    """It is shown, without anything that a terminal, a page or a runner would obey."""
    found = rendered(name, hostile.everywhere(text))
    if name == "github":
        assert_annotations(found)
    elif name == "artemis":
        assert {e.tag for e in ET.fromstring(found).iter()} <= {
            "testsuite", "testcase", "failure", "skipped",
        }  # fmt: skip
    else:
        assert not re.search("[<>&\x1b]", found)
        shown = json.dumps(json.loads(found), ensure_ascii=False).replace("\\n", "")
        assert shown.isprintable()


@given(hostile.reports)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_report_is_exported_or_refused(report):
    """Refused where there is no mark, and only there."""
    has_mark = report.score is not None and not report.review
    for name in arguments.PLATFORMS:
        if name in REFUSING and not has_mark:
            with pytest.raises(GraderError):
                FORMATS[name].render(report)
        elif name == "github":
            assert_annotations(annotations.github_commands(for_student(report)))
        else:
            assert FORMATS[name].render(report)


def test_a_report_that_is_too_long_for_prairielearn_goes_without_output():
    """It takes up to 1 MB."""
    long = TestResult("test_a", "", Verdict.WRONG_ANSWER, 0, 1, "why", "x" * 390 + "\n")
    many = [replace(long, name=f"test_{n}", detail=long.detail * 30) for n in range(200)]
    text = rendered("prairielearn", marked(example.part("p", "P", *many)))
    assert len(text) < 1_000_000
    assert json.loads(text)["tests"][0]["message"] == "WRONG_ANSWER: why"


def test_classroom50_gets_a_result_or_an_error(tmp_path):
    """With the identity that the platform sets; without a mark a code that it shows as an error."""
    fake = tmp_path / "docker"
    fake.write_text(
        '#!/bin/sh\n[ -n "$ENDING" ] && exit "$ENDING"\n'
        'for each; do case $each in *:/report) echo "$RESULT" >"${each%:/report}/result.json" ;; '
        "esac; done\nexit 1\n"
    )
    fake.chmod(0o755)
    names = ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL", "REVIEW_URL")
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RESULT": FORMATS["classroom50"].render(example.usual()),
        **{name: f"submit/{name}" for name in names},
    }
    script = ROOT / "ci" / "classroom50" / "autograder.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=variables)
    assert done.returncode == 0
    data = json.loads((tmp_path / "result.json").read_text())
    valid("classroom50", data)
    assert data["classroom"] == "submit/CLASSROOM"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env={**variables, "ENDING": "3"})
    assert done.returncode == 3
    assert not (tmp_path / "result.json").exists()


def test_gradescope_shows_students_no_more_of_a_full_report():
    """Of a visible test as much as its level of feedback tells; notes of such a part not at all."""
    (part,) = of(replace(HIDDEN, is_hidden=False)).parts
    full = marked(replace(part, message=HIDDEN.message, notes=(f"advice on {SECRET_VALUE}",)))
    assert SECRET_VALUE not in rendered("gradescope", full, is_full=True)
    told = marked(replace(part, tests=(replace(part.tests[0], feedback=Feedback.ALL),)))
    assert SECRET_VALUE in rendered("gradescope", told, is_full=True)


def test_an_export_without_a_mark_leaves_no_old_file(tmp_path):
    """By the command that exports a saved report as well."""
    saved, file = tmp_path / "report.json", tmp_path / "results.json"
    saved.write_text(rendered("json", without_mark(Verdict.JUDGE_ERROR)))
    file.write_text("old")
    words = ["export", "gradescope", str(saved), str(file)]
    with pytest.raises(GraderError, match=r"Gradescope would .* so no file was written"):
        export(arguments.parser(argparse.Action).parse_args(words))
    assert not file.exists()


@pytest.mark.parametrize("is_hidden", [False, True])
def test_no_command_is_told_that_cannot_show_a_hidden_test(is_hidden):
    part = replace(of(replace(HIDDEN, is_hidden=is_hidden)).parts[0], message=HIDDEN.message)
    report = for_student(marked(part))
    report = replace(report, parts=(replace(report.parts[0], message="A hidden check failed"),))
    told = [rendered("html", report), rendered("markdown", report)]
    told.append(terminal.render(report, colour=False, width=80, plain=True))
    cause = causes(report.parts[0])[0]
    assert (again(report, report.parts[0], cause) == "") is is_hidden
    assert not any("<code></code>" in text or "```sh\n\n```" in text for text in told)
