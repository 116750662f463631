"""The JSON report: passed to its schema and its page, equal but for `measured`, read back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from generated_pages import objects
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from grader.model.errors import GraderError
from grader.model.report import Report, Verdict
from grader.report import json_report

from . import example, hostile
from .golden_files import assert_golden

ROOT = Path(__file__).resolve().parents[3]
SCHEMA_FILE = ROOT / "grader" / "report" / "report.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text())
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
REPORTS = [example.usual, example.every_verdict, example.full_marks, example.small]


def data_of(report: Report) -> dict:
    return json.loads(json_report.render(report))


def test_the_text_is_the_golden_one():
    """Rewrite with GRADER_WRITE_GOLDEN=1, then read the difference."""
    assert_golden(json_report.render(example.every_verdict()), "every_verdict.json")


def test_the_schema_is_one():
    """The schema itself is valid and knows exactly the verdicts there are."""
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$defs"]["verdict"]["enum"] == [verdict.value for verdict in Verdict]


def test_every_object_of_the_schema_is_closed_and_complete():
    """No key may be added or left out; only packages are named freely."""
    assert SCHEMA_FILE.read_text().count('"type": "object"') == len(objects(SCHEMA)) + 1
    assert SCHEMA["$defs"]["versions"]["properties"]["packages"]["additionalProperties"] is False
    for path, schema in objects(SCHEMA).items():
        assert schema["additionalProperties"] is False, path
        assert schema["required"] == list(schema["properties"]), path


@pytest.mark.parametrize("make", REPORTS)
def test_reports_fit_the_schema(make):
    """Every example validates."""
    VALIDATOR.validate(data_of(make()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.update(extra=1),
        lambda data: data.pop("notes"),
        lambda data: data.update(score=None),
        lambda data: data["parts"][0].update(verdict="FINE"),
        lambda data: data["parts"][0]["tests"][0].update(points=-1),
        lambda data: data["versions"].update(engine_digest="short"),
        lambda data: data["measured"].update(num_launches=1),
    ],
)
def test_the_schema_refuses_other_data(spoil):
    """What the page does not specify does not validate."""
    data = data_of(example.usual())
    spoil(data)
    assert not VALIDATOR.is_valid(data)


def test_a_judge_error_has_no_score():
    """The schema wants null, never zero, where the grader failed."""
    data = data_of(example.every_verdict())
    assert (data["score"], data["exit_code"], data["verdict"]) == (None, 3, "JUDGE_ERROR")
    assert not VALIDATOR.is_valid({**data, "score": 0})
    assert not VALIDATOR.is_valid({**data, "exit_code": 1})


@given(hostile.reports)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_every_report_fits_the_schema_and_reads_back(report):
    """Any report validates, is ASCII, and is the same after a way through JSON."""
    text = json_report.render(report)
    assert text.isascii()
    VALIDATOR.validate(json.loads(text))
    assert json_report.render(json_report.parse(text)) == text


def test_reading_back_gives_the_report():
    """What parse returns equals the report, times aside, which are rounded."""
    for make in REPORTS:
        report = replace(make(), wall_time_s=31.25)
        assert json_report.parse(json_report.render(report).encode()) == report


@pytest.mark.parametrize("text", hostile.TEXTS)
def test_hostile_texts_come_back_as_they_were(text):
    """JSON keeps every text, but for lone surrogates, which it cannot hold."""
    found = json_report.parse(json_report.render(hostile.everywhere(text)))
    kept = text.encode("utf-8", "backslashreplace").decode("utf-8")
    assert found == hostile.everywhere(kept)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda data: data.update(extra=1), "keys or sums are wrong"),
        (lambda data: data.update(score=100), "keys or sums are wrong"),
        (lambda data: data.update(exit_code=0), "keys or sums are wrong"),
        (lambda data: data.pop("notes"), "keys or sums are wrong"),
        (lambda data: data.pop("measured"), "it has no 'measured'"),
        (lambda data: data.update(title=7), "Expected `str`, got `int` - at `$.title`"),
        (lambda data: data.update(parts=[3]), "'int' object is not a mapping"),
        (lambda data: data.update(notes=[3]), "Expected `str`, got `int` - at `$.notes[0]`"),
        (
            lambda data: data["parts"][0].update(points=-1),
            ("some points are negative or not finite"),
        ),
        (lambda data: data["parts"][0].update(points=float("nan")), "negative or not finite"),
        (lambda data: data.update(title="\ud800"), "keys or sums are wrong"),
        (lambda data: data["parts"][0].update(points=True), "got `bool` - at `$.parts[0].points`"),
        (lambda data: data["parts"][0].update(points=10**400), "Number out of range"),
        (lambda data: data["parts"][0].update(verdict="\x1b"), "Invalid enum value"),
        (
            lambda data: data.update(schema_version=1),
            f"has schema_version 1, but this grader reads {json_report.SCHEMA_VERSION}",
        ),
    ],
)
def test_anything_but_a_report_is_refused(spoil, sentence):
    """One clear sentence, the grader's failure, and no character a terminal obeys."""
    data = data_of(example.usual())
    spoil(data)
    with pytest.raises(GraderError) as caught:
        json_report.parse(json.dumps(data))
    assert sentence in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", b"\xff", "[" * 100_000, "NaN", "{"])
def test_other_texts_are_refused(text):
    """What is no JSON, or no object, is the grader's failure too."""
    with pytest.raises(GraderError, match="an unreadable report"):
        json_report.parse(text)


def test_two_gradings_differ_in_measured_alone():
    """Times and launches lie under keys named `measured`, nowhere else."""
    report = example.every_verdict()
    later = replace(
        report,
        wall_time_s=99.0,
        started_at="2027-01-01T00:00:00+00:00",
        parts=tuple(replace(part, wall_time_s=1.5, num_launches=9) for part in report.parts),
    )
    one, other = data_of(report), data_of(later)
    assert one != other
    assert without_measured(one) == without_measured(other)


def test_keys_always_come_in_the_order_of_the_schema():
    """Whatever order the packages were found in, the text is the same."""
    report = example.usual()
    turned = dict(reversed(report.versions.packages.items()))
    again = replace(report, versions=replace(report.versions, packages=turned))
    assert json_report.render(again) == json_report.render(report)
    assert list(data_of(report)) == list(SCHEMA["$defs"]["report"]["properties"])


def test_points_are_written_without_noise():
    """Sums of decimal points are the decimals a person expects; whole points are integers."""
    part = replace(example.usual().parts[1], points=0.1 + 0.2, max_points=7.0)
    data = data_of(replace(example.usual(), parts=(part,)))
    assert repr(data["score"]) == repr(data["parts"][0]["points"]) == "0.3"
    assert repr(data["max_score"]) == "7"


def test_the_schema_says_what_every_key_means():
    """docs/json.md is written from it."""
    for found in objects(SCHEMA).values():
        assert [key for key, each in found["properties"].items() if not each["description"]] == []


def without_measured(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_measured(each) for key, each in value.items() if key != "measured"}
    if isinstance(value, list):
        return [without_measured(each) for each in value]
    return value
