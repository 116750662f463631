"""The timeline for Perfetto: tracks, calls, arrows."""

import json

from grader.report.perfetto import perfetto_json

from . import harmless, hostile
from .example import seen


def events(evidence, kind):
    return [
        each for each in json.loads(perfetto_json(evidence))["traceEvents"] if each["ph"] == kind
    ]


def test_there_is_one_track_a_rank():
    named = [each for each in events(seen(), "M") if each["name"] == "thread_name"]
    assert [(each["tid"], each["args"]["name"]) for each in named] == [
        (rank, f"rank {rank}") for rank in range(4)
    ]


def test_a_call_is_where_and_as_long_as_it_was():
    first = events(seen(), "X")[0]
    assert (first["name"], first["tid"], first["ts"], first["dur"]) == ("Isend", 0, 0, 100)


def test_a_call_that_has_not_returned_lasts_to_the_end():
    waiting = [each for each in events(seen(), "X") if not each["args"]["returned"]]
    assert [each["name"] for each in waiting] == ["Recv"] * 4
    assert {each["ts"] + each["dur"] for each in waiting} == {2750}


def test_a_message_is_an_arrow_between_two_tracks():
    (start,), (end,) = events(seen(), "s"), events(seen(), "f")
    assert start["id"] == end["id"]
    assert (start["tid"], start["ts"], end["tid"], end["ts"]) == (3, 250, 0, 750)
    assert start["args"] == {"num_bytes": 96, "tag": 7}


def test_hostile_texts_stay_data():
    for text in hostile.TEXTS:
        told = perfetto_json(hostile.filled(seen(), text))
        assert told.isascii()
        for line in told.split("\n"):
            harmless.assert_no_command(line)
