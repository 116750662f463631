"""Calls that are kept are the same calls, in a fraction of the memory."""

import numpy as np
import pytest

from grader.judge.traffic.collective_calls import name_lower_case
from grader.trace.calls import Calls, compacted_trace
from grader.trace.packed_records import NAMES, RECORD, Records, compacted

from ..judge.build import Run

MANY = 1000


def records_with(**columns):
    records = np.zeros(MANY, RECORD)
    for name, values in columns.items():
        records[name] = values
    return records


def in_turn(*numbers):
    return np.resize(np.array(numbers, object), MANY)


@pytest.mark.parametrize("name", [name for name in RECORD.names if name != "num_waits"])
@pytest.mark.parametrize("span", [0, 1, 255, 256, (1 << 16) - 1, 1 << 16, (1 << 32) - 1, 1 << 32])
def test_packing_loses_nothing(name, span):
    """Whatever numbers a rank has written: the least there are, the greatest, and both."""
    limits = np.iinfo(RECORD[name])
    for least in (limits.min, 0, limits.max - span):
        if not limits.min <= least <= limits.max - span:
            continue
        whole = records_with(**{name: in_turn(least + span, least)})
        packed = Records(whole).packed()
        assert (packed.unpacked() == whole).all()
        assert packed.column(name).tolist() == whole[name].tolist()
    whole = records_with(**{name: in_turn(limits.max, limits.min, 0)})
    assert (Records(whole).packed().unpacked() == whole).all()


def test_packing_loses_nothing_of_noise():
    """All fields at once."""
    noise = np.random.default_rng(5).bytes(MANY * RECORD.itemsize)
    whole = np.frombuffer(noise, RECORD)
    packed = Records(whole).packed()
    assert packed.unpacked().tobytes() == noise
    assert packed.take(np.arange(7, 3, -1)).unpacked().tobytes() == whole[7:3:-1].tobytes()
    assert Records(whole)[::2].packed().unpacked().tobytes() == whole[::2].tobytes()
    assert packed[5:9].unpacked().tobytes() == whole[5:9].tobytes()
    assert packed.packed() is packed


def test_what_is_packed_takes_what_differs():
    """A flood's calls differ in number and times."""
    first_ns = 10**18
    packed = Records(
        records_with(
            sequence=np.arange(MANY) + 10**9,
            entered_ns=first_ns + 5000 * np.arange(MANY),
            left_ns=first_ns + 5000 * np.arange(MANY) + 1,
            communicator_size=8,
            peer=-2,
        )
    ).packed()
    assert packed.num_bytes == MANY * (2 + 4 + 4)


def test_few_records_stay_as_they_are():
    """What says how records are packed takes more than a few of them."""
    few = Records(records_with()[:100])
    assert few.packed() is few


def test_waits_are_kept_in_few_bytes_and_only_those_of_the_records():
    """Numbers of calls are small; one that a rank has made up may be any."""
    waits = np.arange(5 * MANY)
    records = Records(records_with(num_waits=2, first_wait=5 * np.arange(MANY)))
    kept, few = compacted(records, waits)
    assert few.itemsize == 2
    assert few.tolist() == [5 * call + half for call in range(MANY) for half in (0, 1)]
    assert kept.column("first_wait").tolist() == list(range(0, 2 * MANY, 2))
    made_up = np.resize(np.array([-1, 1 << 62]), 2 * MANY)
    assert compacted(kept, made_up)[0] is kept
    records = Records(records_with(num_waits=2, first_wait=2 * np.arange(MANY)))
    assert compacted(records, made_up)[1].tolist() == made_up.tolist()


def test_calls_that_are_kept_are_the_same_to_whoever_looks():
    """By object, by column, by flag, by name; also of a part of them."""
    run = Run(3)
    for number in range(MANY // 2):
        sent = run.isend(0, 1 + number % 2, tag=number, file=f"{number % 3}.py")
        run.wait(0, sent)
    calls = run.trace().ranks[0].calls
    kept = calls.compacted()
    assert kept is not calls
    assert kept == calls == Calls.of(list(kept))
    assert [*reversed(kept[-3:])] == [kept[-1], kept[-2], kept[-3]] == list(calls[-1:-4:-1])
    with pytest.raises(IndexError):
        kept[len(calls)]
    for name in set(RECORD.names) - {*NAMES, "flags"}:
        assert kept.column(name).tolist() == calls.column(name).tolist(), name
        assert kept.column(name).dtype == np.int64
    assert kept.flag("is_send").tolist() == calls.flag("is_send").tolist()
    assert kept.functions() == {"Isend", "Waitall"}
    assert kept.total("num_bytes") == calls.total("num_bytes")
    some = kept.where(kept.function_is("Waitall".__eq__))
    assert some == calls.where(calls.function_is("Waitall".__eq__)) == some.compacted()
    assert [call.waits_for for call in some[:2]] == [(0,), (2,)]


def test_how_calls_are_kept_does_not_change_how_many_may_be():
    """Programs that make as many calls end alike, however well theirs can be packed."""
    run = Run(2)
    for _ in range(MANY):
        run.send(0, 1)
    calls = run.trace().ranks[0].calls
    assert calls.compacted().num_bytes == calls.num_bytes


def test_lower_case_calls_are_named_before_or_after():
    """The name of what is kept is a number like others."""
    run = Run(2)
    for number in range(MANY):
        run.send(0, 1, pickled=number % 2 == 0)
    named = name_lower_case(run.trace())
    assert compacted_trace(named) == named == name_lower_case(compacted_trace(run.trace()))
    assert [call.made_by for call in compacted_trace(named).ranks[0].calls[:2]] == ["comm.send", ""]
