"""Records of any content become calls, and no more memory than they were written in."""

import numpy as np
import pytest

from grader.observe.interposer.records import Copy, calls_of
from grader.trace import layout
from grader.trace.calls import Call, Calls
from grader.trace.packed_records import RECORD

from ...judge.build import Run

NUM_WAITS = 64


def copy_of(records, *, waits=(), names=b"\0Send\0ring.py\0", **fields):
    """A copy of these records, of sequences 0, 1, ..., in which everything is whole."""
    written = np.zeros(len(records), layout.RECORD)
    for index, record in enumerate(records):
        for name, value in {"stamp": index + 1, **record}.items():
            written[name][index] = value
    values = {"wanted": 0, "first": 0, "head": len(records), "num_waits": NUM_WAITS}
    values |= {"waits_reserved": len(waits), "oldest": -1, "oldest_wait": -1}
    return Copy(
        **(values | fields),
        records=written.tobytes(),
        waits=np.array(waits, "<u8").tobytes(),
        names=names,
    )


def test_calls_are_equal_however_they_are_kept():
    """What is made of a record is the call that the record was made of."""
    run = Run(2)
    run.wait(0, run.isend(0, 1), run.irecv(0, 1))
    run.send(0, 1, made_by="comm.send", file="a.py", pickled=True)
    calls = list(run.trace().ranks[0].calls)
    assert all(isinstance(call, Call) for call in calls)
    kept = Calls.of(calls)
    assert [*kept] == calls == [kept[index] for index in range(len(calls))]
    assert [*reversed(kept)] == calls[::-1]
    assert kept[1:3] == calls[1:3]
    assert kept[-1] == calls[-1]
    assert kept != calls[1:]
    assert kept.where(kept.flag("is_send")) == [call for call in calls if call.is_send]
    assert kept.total("num_bytes") == sum(call.num_bytes for call in calls)


def test_a_record_takes_as_little_memory_as_is_said():
    """Else the bound of the judge's memory is another one."""
    assert RECORD.itemsize <= 168


def test_calls_that_are_kept_take_no_more_memory_than_they_need():
    """The waits of all others go; of calls that are left, each has its own."""
    waits = list(range(NUM_WAITS))
    records = [{"num_waits": 3, "first_wait": 5 * number} for number in range(8)]
    calls, _ = calls_of(copy_of(records, waits=waits))
    some = calls.where(np.arange(len(calls)) % 3 == 1)
    assert some.compacted() == some == [calls[1], calls[4], calls[7]]
    assert some.num_bytes - some.compacted().num_bytes == 8 * (3 * 8 - 3 * 3)
    none = calls.where(np.zeros(len(calls), np.bool_)).compacted()
    assert len(none) == 0 and none.num_bytes < 256
    assert calls.compacted() is calls


def test_a_sum_does_not_overflow():
    """Two huge messages are no small one."""
    run = Run(2)
    for _ in range(4):
        run.send(0, 1, num_bytes=1 << 62)
    assert run.trace().ranks[0].calls.total("num_bytes") == 1 << 64


def test_waits_are_those_of_the_record_also_where_the_list_begins_anew():
    """A list of waits may go over the end of the memory, to its beginning."""
    waits = list(range(NUM_WAITS))
    first = 2 * NUM_WAITS - 2
    copy = copy_of([{"num_waits": 4, "first_wait": first}, {}], waits=waits)
    calls, lost = calls_of(Copy(**{**vars(copy), "waits_reserved": first + 4}))
    assert not lost
    assert [call.waits_for for call in calls] == [(62, 63, 0, 1), ()]


@pytest.mark.parametrize(
    "record",
    [
        {"num_waits": 257, "first_wait": 0},
        {"num_waits": 2, "first_wait": NUM_WAITS - 1},
        {"num_waits": 4, "first_wait": 2**64 - 2},
    ],
)
def test_waits_that_are_not_there_are_lost(record):
    """Too many, beyond the end, and where the sum of two numbers would begin at 0 again."""
    calls, lost = calls_of(copy_of([record], waits=range(NUM_WAITS)))
    assert lost
    assert calls[0].waits_for == ()


def test_lists_of_waits_that_overlap_take_no_memory():
    """A thousand records of the same 64 waits would be 64 000 numbers."""
    record = {"num_waits": NUM_WAITS, "first_wait": 0}
    calls, lost = calls_of(copy_of([record] * 1000, waits=range(NUM_WAITS)))
    assert lost
    assert {call.waits_for for call in calls} == {()}


def test_both_halves_of_an_exchange_may_name_the_same_waits():
    """As the interposer writes them."""
    record = {"num_waits": NUM_WAITS, "first_wait": 0}
    calls, lost = calls_of(copy_of([record] * 2, waits=range(NUM_WAITS)))
    assert not lost
    assert calls[0].waits_for == calls[1].waits_for == tuple(range(NUM_WAITS))


def test_names_begin_after_others():
    """Else 64 KiB would be 65 536 names of up to 4096 characters."""
    records = [{"function": offset} for offset in (0, 1, 2, 6, 99)]
    calls, lost = calls_of(copy_of(records))
    assert not lost
    assert [call.function for call in calls] == ["", "Send", "", "ring.py", ""]


def test_a_record_that_was_overwritten_is_lost():
    """Its stamp is not that of its place, or the memory has gone on past it."""
    calls, lost = calls_of(copy_of([{"tag": 1}, {"stamp": 7}, {"tag": 3}]))
    assert lost
    assert [(call.sequence, call.tag) for call in calls] == [(0, 1), (2, 3)]
    calls, lost = calls_of(copy_of([{"tag": 1}, {"tag": 2}], oldest=1))
    assert lost
    assert [call.sequence for call in calls] == [1]
