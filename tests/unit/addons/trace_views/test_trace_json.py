"""The trace as JSON: what its schema says, with all calls, and harmless wherever it is shown."""

import json
from pathlib import Path

import pytest
from generated_pages import objects
from jsonschema import Draft202012Validator
from unit.judge.build import Run

from grader.addons.trace_views.trace_json import trace_json

from ...report import hostile
from ...report.harmless import assert_no_command
from ...report.traces import DEADLOCK, exchange, traced

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = json.loads((ROOT / "grader" / "report" / "trace.schema.json").read_text())


def data_of(shown) -> dict:
    return json.loads(trace_json(shown))


def test_all_calls_are_there():
    """However many; their numbers are those of the table."""
    data = data_of(traced(exchange(50).trace()))
    assert [len(rank["calls"]) for rank in data["ranks"]] == [150, 150]
    send, receive, wait = data["ranks"][0]["calls"][:3]
    assert (send["number"], send["call"], send["peer"], send["completed_by"]) == (1, "Isend", 1, 3)
    assert (receive["peer"], receive["matched_source"], receive["line"]) == (1, 1, 14)
    assert (wait["waits_for"], wait["completes"], wait["peer"]) == ([1, 2], [1, 2], None)
    assert data["edges"][0] == {
        "source": 0,
        "destination": 1,
        "number": 50,
        "num_bytes": 400,
        "largest_num_bytes": 8,
    }


def test_cases_say_what_ended_them():
    """Null and nothing for those that have an outcome."""
    data = data_of(traced(exchange().trace(), DEADLOCK))
    assert data["case"] == 2
    ended = [(case["number"], case["verdict"], case["message"]) for case in data["cases"]]
    assert ended == [
        (1, None, ""),
        (2, "DEADLOCK", DEADLOCK.message),
        (3, "DEADLOCK", DEADLOCK.message),
    ]


@pytest.mark.parametrize("failure", [None, DEADLOCK], ids=["passed", "deadlock"])
def test_a_trace_fits_its_schema(failure):
    """Which docs/trace-json.md is written from; its keys are in that order."""
    run = exchange()
    run.call(0, "Barrier")
    data = data_of(traced(run.trace(), *filter(None, [failure])))
    Draft202012Validator(SCHEMA).validate(data)
    assert list(data) == list(SCHEMA["$defs"]["trace"]["properties"])
    assert list(data["ranks"][0]["calls"][0]) == list(SCHEMA["$defs"]["call"]["properties"])


def test_the_schema_is_closed():
    """No key may be added or left out."""
    Draft202012Validator.check_schema(SCHEMA)
    for path, found in objects(SCHEMA).items():
        assert found["additionalProperties"] is False, path
        assert found["required"] == list(found["properties"]), path


@pytest.mark.parametrize("text", hostile.TEXTS, ids=range(len(hostile.TEXTS)))
def test_no_text_is_active(text):
    """Neither on a web page nor in the log of a CI runner."""
    run = Run(1)
    run.call(0, text, file=text, made_by=text)
    told = trace_json(traced(run.trace(), submission=text))
    assert told.isascii() and "<" not in told
    for line in told.split("\n"):
        assert_no_command(line)
    json.loads(told)
