"""What gloo has sent for each rank, against what the ranks recorded."""

from dataclasses import replace

import pytest

from grader.judge.explanation import bytes_carried
from grader.judge.explanation.bytes_carried import unrecorded_payloads
from grader.trace.sent_by_gloo import SentByGloo

from ..build import Run

LENGTH = 61706
GIVEN = {"num_elements": LENGTH, "num_bytes": 4 * LENGTH}
NOTHING = SentByGloo(0, 0)


def doubts(run, *sent):
    """Return the doubts about a run in which gloo sent this, by rank."""
    return list(unrecorded_payloads(run.trace(), sent))


def message(**fields):
    """Return a run in which rank 0 sends rank 1 a message, which it has got."""
    run = Run(2)
    run.send(0, 1, function="send", **GIVEN)
    run.recv(1, 0, function="recv", **GIVEN | fields)
    return run


def collective(function, ranks=2):
    """Return a run in which all ranks call this."""
    run = Run(ranks)
    for rank in range(ranks):
        run.call(rank, function, **GIVEN)
    return run


def test_a_message_is_sent_as_it_is_recorded():
    """Not less, which others have got all the same; and no second one."""
    exact = SentByGloo(4 * LENGTH, 0)
    assert doubts(message(), exact, NOTHING) == []
    for number in (0, 4 * LENGTH - 1, 8 * LENGTH):
        (doubt,) = doubts(message(), SentByGloo(number, 0), NOTHING)
        assert f"gloo sent {number} bytes in rank 0's messages, but rank 0 recorded" in doubt.text
    (doubt,) = doubts(message(), exact, exact)
    assert "rank 1 recorded 0" in doubt.text


def test_calls_of_mpi_are_not_looked_at(monkeypatch):
    """Nobody counts below them, and a submission may make a million of them in each case."""
    monkeypatch.setattr(bytes_carried, "exchanged", lambda trace: pytest.fail("they were read"))
    assert doubts(message()) == []


def test_a_message_under_way_may_be_sent_or_not():
    """It counts as sent where its receiver has got it."""
    run = message(completed_ns=0)
    run.change(1, 0, completed_ns=0)
    for number in (0, 4 * LENGTH):
        assert doubts(run, SentByGloo(number, 0), NOTHING) == []


def test_a_message_into_more_room_is_as_long_as_it_is():
    """Whoever receives has to know its length only to be sure that it fits."""
    run = message(num_bytes=9 * LENGTH)
    assert doubts(run, SentByGloo(4 * LENGTH, 0), NOTHING) == []


@pytest.mark.parametrize(
    ("function", "sent"),
    [("all_reduce", 4 * LENGTH), ("broadcast", 2 * LENGTH), ("all_gather", 4 * LENGTH)],
)
def test_a_collective_pays_for_itself_and_not_for_another(function, sent):
    """What is not recorded is seen, beside calls for show of the same kind and of none."""
    own = SentByGloo(0, sent)
    assert doubts(collective(function), own, own) == []
    hidden = SentByGloo(0, sent + 4 * LENGTH)
    for run in (collective(function), Run(2)):
        (doubt,) = doubts(run, hidden, hidden)
        assert f"gloo sent {2 * hidden.of_collectives} bytes for collectives" in doubt.text


def test_many_calls_without_payload_pay_for_none():
    """The kernel sees something of a barrier, of which eight hundred would pay for a sum."""
    run = Run(4)
    for _ in range(800):
        for rank in range(4):
            run.call(rank, "barrier")
    (doubt,) = doubts(run, *[SentByGloo(0, 6 * LENGTH)] * 4)
    assert f"gloo sent {24 * LENGTH} bytes for collectives" in doubt.text


def test_a_message_pays_for_no_collective():
    """As the kernel's count, which knows bytes only, would let it."""
    of_messages, of_collectives = doubts(message(), SentByGloo(0, 4 * LENGTH), NOTHING)
    assert "in rank 0's messages" in of_messages.text
    assert "bytes for collectives" in of_collectives.text


def test_barriers_that_are_watched_send_short_messages():
    """A thousand on 4 ranks were measured to send 12000 bytes of rank 0, and 4000 of each other."""
    run = Run(4)
    for _ in range(1000):
        for rank in range(4):
            run.call(rank, "monitored_barrier")
    sent = [SentByGloo(12_000, 0), *[SentByGloo(4_000, 0)] * 3]
    assert doubts(run, *sent) == []
    assert len(doubts(Run(4), *sent)) == 1
    assert len(doubts(run, SentByGloo(4 * LENGTH, 0), *sent[1:])) == 1


def test_nothing_is_said_where_calls_are_missing():
    """Neither where some were lost, nor where none could be recorded."""
    trace = Run(2).trace()
    for change in ({"truncated": True}, {"attached": False}):
        lost = replace(trace, ranks=(replace(trace.ranks[0], **change), trace.ranks[1]))
        assert list(unrecorded_payloads(lost, [SentByGloo(1 << 40, 0)] * 2)) == []


def test_a_count_that_a_rank_has_written_proves_nothing():
    """It may be anything, also less than it was."""
    (doubt,) = doubts(Run(2), SentByGloo(-5, -(1 << 63)), NOTHING)
    assert "gloo sent -5 bytes" in doubt.text
