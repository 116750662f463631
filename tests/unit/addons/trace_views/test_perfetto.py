"""The timeline for Perfetto: tracks, calls, arrows."""

import json
from dataclasses import replace

import pytest

from grader.addons.trace_views.trace_json import perfetto_json
from grader.model.evidence import CallSpan, Message, Timeline

from ...report import harmless, hostile
from ...report.example import seen


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


def with_calls(*spans, messages=()):
    return replace(seen(), num_ranks=2, timeline=Timeline(spans, messages))


def call(rank, name, began_ms, ended_ms):
    return CallSpan(rank, name, "ring.py:40", "wait", began_ms, ended_ms)


def test_a_call_that_has_not_returned_lasts_to_the_end():
    calls = with_calls(call(0, "Isend", 0.1, 0.2), call(0, "Recv", 0.3, None), call(1, "x", 0, 2.5))
    (waiting,) = [each for each in events(calls, "X") if not each["args"]["returned"]]
    assert (waiting["name"], waiting["ts"] + waiting["dur"]) == ("Recv", 2500)


def test_no_call_goes_on_when_its_rank_makes_the_next_one():
    """An operation of torch does; readers of the format leave out calls that overlap on a track."""
    calls = with_calls(
        call(0, "isend", 0.1, 0.9), call(0, "irecv", 0.25, 0.7), call(0, "wait", 0.5, 1.0)
    )
    shown = [(each["name"], each["ts"], each["dur"]) for each in events(calls, "X")]
    assert shown == [("isend", 100, 150), ("irecv", 250, 250), ("wait", 500, 500)]


@pytest.mark.parametrize(
    ("received_ms", "shown_us"), [(0.65, 650), (0.71, 700), (0.79, 800), (5.0, 900)]
)
def test_an_arrow_ends_in_a_call(received_ms, shown_us):
    """At the nearest moment of one: readers leave out an arrow that ends beside all calls."""
    calls = with_calls(
        call(0, "Isend", 0.1, 0.2),
        call(1, "Irecv", 0.1, 0.2),
        call(1, "Test", 0.6, 0.7),
        call(1, "Wait", 0.8, 0.9),
        messages=(Message(0, 1, 0.1, received_ms, 8, 0, ""),),
    )
    (end,) = events(calls, "f")
    assert end["ts"] == shown_us


def test_no_arrow_goes_back_in_time():
    """Not even where the nearest call of its destination was over before it was sent."""
    calls = with_calls(
        call(0, "Isend", 0.5, 0.6),
        call(1, "Test", 0.1, 0.49),
        call(1, "Wait", 0.9, 1.0),
        messages=(Message(0, 1, 0.5, 0.51, 8, 0, ""),),
    )
    assert [each["ts"] for kind in "sf" for each in events(calls, kind)] == [500, 900]


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
