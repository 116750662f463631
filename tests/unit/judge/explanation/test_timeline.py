"""The timeline and the sums of a case, from its trace."""

from dataclasses import replace

from grader.judge.explanation.timeline import edges_of, timeline_of
from grader.trace.calls import ANY_SOURCE, ANY_TAG, NO_PEER, Call, RankTrace, Trace


def call(sequence, function, peer=NO_PEER, **more):
    fields = dict.fromkeys(Call.__slots__, 0)
    fields |= {name: False for name in ("is_send", "is_receive", "creates_request", "pickled")}
    fields |= {"request_freed": False, "cancelled": False, "synchronous": False}
    fields |= {"waits_for": (), "file": "/x/ring.py", "line": 7, "made_by": "", "num_bytes": -1}
    fields |= {"matched_source": NO_PEER, "matched_tag": NO_PEER, "received_num_bytes": -1}
    entered_ns = 1_000_000 * (1 + sequence)
    fields |= {"entered_ns": entered_ns, "left_ns": entered_ns + 500_000}
    fields |= {"sequence": sequence, "function": function, "peer": peer}
    return Call(**{**fields, **more})


def send(sequence, peer, **more):
    return call(sequence, "Send", peer, **{"is_send": True, "num_bytes": 80, **more})


def receive(sequence, source, tag=0, **more):
    got = {"is_receive": True, "matched_source": source, "matched_tag": tag}
    return call(sequence, "Recv", source, **{**got, "completed_ns": 20_000_000 + sequence, **more})


def trace(*calls_by_rank):
    return Trace(
        tuple(
            RankTrace(rank, tuple(calls), True, True, False, -1, False, 0, 0, False)
            for rank, calls in enumerate(calls_by_rank)
        )
    )


def test_times_count_from_the_first_call_of_any_rank():
    spans = timeline_of(trace([send(1, 1)], [call(0, "Barrier")])).spans
    assert [(span.rank, span.name, span.began_ms, span.ended_ms) for span in spans] == [
        (0, "Send", 1.0, 1.5),
        (1, "Barrier", 0.0, 0.5),
    ]
    assert [span.kind for span in spans] == ["send", "collective"]
    assert spans[0].place == "ring.py:7"


def test_a_call_that_has_not_returned_has_no_end():
    waiting = trace([call(0, "Barrier", left_ns=0), call(1, "Recv", 1, left_ns=0)])
    (seen,) = waiting.ranks
    first, second = timeline_of(Trace((replace(seen, inside=1),))).spans
    assert second.ended_ms is None
    assert first.ended_ms == first.began_ms, "the rank went on: it is in another call"


def test_what_a_call_is_about_is_in_words():
    wild = receive(0, ANY_SOURCE, tag=ANY_TAG)
    pending = replace(wild, peer=ANY_SOURCE, tag=ANY_TAG, matched_source=NO_PEER)
    got = replace(wild, peer=ANY_SOURCE, tag=ANY_TAG, matched_source=1, matched_tag=5, sequence=1)
    spans = timeline_of(trace([pending, got, send(2, 1, tag=7)])).spans
    assert sorted(span.note for span in spans) == [
        "from any rank, any tag",
        "from rank 1, tag 5",
        "to rank 1, tag 7, 80 bytes",
    ]


def test_messages_of_one_sender_and_tag_arrive_in_their_order():
    sent = [send(0, 1), send(1, 1, tag=5), send(2, 1, num_bytes=160)]
    got = [receive(0, 0), receive(1, 0, tag=5), receive(2, 0)]
    messages = timeline_of(trace(sent, got)).messages
    assert [(each.sent_ms, each.tag, each.num_bytes) for each in messages] == [
        (0.0, 0, 80),
        (1.0, 5, 80),
        (2.0, 0, 160),
    ]


def test_a_receive_from_any_rank_has_its_arrow_from_the_sender():
    got = replace(receive(0, 0), peer=ANY_SOURCE)
    (message,) = timeline_of(trace([send(0, 1)], [replace(got, tag=ANY_TAG)])).messages
    assert (message.source, message.destination) == (0, 1)


def test_a_message_that_no_send_explains_is_not_drawn():
    assert timeline_of(trace([], [receive(0, 0)])).messages == ()
    early = receive(0, 0, completed_ns=1)
    assert timeline_of(trace([send(5, 1)], [early])).messages == ()


def test_of_many_calls_the_last_ones_stay_and_the_others_are_counted():
    many = [send(number, 1) for number in range(10)]
    got = [receive(number, 0) for number in range(10)]
    shown = timeline_of(trace(many, got), most_spans=6, most_messages=2)
    assert len(shown.spans) == 6
    assert min(span.began_ms for span in shown.spans) == 7.0
    assert shown.num_spans_left_out == 14
    assert len(shown.messages) == 2
    assert shown.num_messages_left_out == 8


def test_the_last_message_stays_however_early_it_was_sent():
    """A picture of a deadlock names it: it may have been under way for long."""
    sent = [send(0, 1), *(call(number, "Barrier") for number in range(1, 9))]
    shown = timeline_of(trace(sent, [receive(8, 0)]), most_spans=4)
    (message,) = shown.messages
    assert message.sent_ms < min(span.began_ms for span in shown.spans)
    assert shown.num_messages_left_out == 0


def test_a_clock_out_of_its_mind_stays_a_number_that_can_be_drawn():
    far = call(0, "Barrier", entered_ns=(1 << 63) - 2, left_ns=(1 << 63) - 1)
    spans = timeline_of(trace([call(0, "Barrier")], [far])).spans
    assert max(span.ended_ms for span in spans) == 1e9


def test_edges_sum_messages_and_leave_out_those_to_oneself_and_to_nobody():
    sent = [send(0, 1), send(1, 1), send(2, 0), send(3, -2), send(4, 99), send(5, 1, error=3)]
    (edge,) = edges_of(trace(sent, []))
    assert (edge.source, edge.destination, edge.num_messages, edge.num_bytes) == (0, 1, 2, 160)
