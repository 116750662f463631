"""An observation is the same after it was written and read; what is damaged is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from observations import RANKS, answered, exchanged, observations, plan
from unit.judge.build import Run

from grader.judge.explanation.launch_result import explain
from grader.recording.codec import UnreadableRecording, decode, encode
from grader.recording.observation import LaunchObservation


@pytest.mark.parametrize("name", observations())
def test_what_is_read_is_what_was_written(name):
    """And so is what the judge makes of it."""
    observed = observations()[name]
    read = decode(encode(observed))
    assert encode(read) == encode(observed)
    assert repr(explain(plan(), read)) == repr(explain(plan(), observed))
    for case, other in zip(observed.cases, read.cases, strict=True):
        for rank, same in zip(case.ranks, other.ranks, strict=True):
            assert rank.trace == same.trace
            assert rank.counted_after == same.counted_after
            assert rank.values == same.values


def test_equal_arrays_are_stored_once():
    """Of all ranks and cases; what does not become shorter by packing is stored as it is."""
    noise = np.random.default_rng(1).random(10_000)
    ranks = tuple(replace(rank, arrays={"sum": noise}) for rank in answered().ranks)
    case = replace(answered(), ranks=ranks)
    observed = LaunchObservation((case, case), output_tails=("",) * RANKS, refusals=("",) * RANKS)
    assert noise.nbytes < len(encode(observed)) < 1.2 * noise.nbytes


def test_a_long_trace_takes_few_bytes():
    """As it does in memory."""
    run = Run(RANKS)
    for _ in range(5000):
        run.call(0, "Barrier")
    case = answered(run.trace())
    assert case.trace.num_bytes > 600_000
    encoded = encode(LaunchObservation((case,)))
    assert len(encoded) < 100_000
    assert decode(encoded).cases[0].trace == case.trace


HEAD_LENGTH = 4


def changed(observed, change):
    """Return the bytes of an observation with its head changed."""
    data = encode(observed)
    length = int.from_bytes(data[:HEAD_LENGTH], "big")
    head = json.loads(data[HEAD_LENGTH : HEAD_LENGTH + length])
    change(head)
    text = json.dumps(head).encode()
    return len(text).to_bytes(HEAD_LENGTH, "big") + text + data[HEAD_LENGTH + length :]


def rank_of(head):
    return head["observed"]["cases"][0]["ranks"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.pop("observed"),
        lambda head: head["blobs"].pop(),
        lambda head: head["blobs"].append([-1, 5]),
        lambda head: head["blobs"].__setitem__(0, [head["blobs"][0][0], 1 << 50]),
        lambda head: head["observed"].__setitem__("cases", 3),
        lambda head: head["observed"]["end"].__setitem__("kind", "of its own accord"),
        lambda head: rank_of(head)["arrays"]["sum"].__setitem__("shape", [-3]),
        lambda head: rank_of(head)["arrays"]["sum"].__setitem__("shape", [1 << 60, 1 << 60]),
        lambda head: rank_of(head)["arrays"]["sum"].__setitem__("dtype", "|O"),
        lambda head: rank_of(head)["arrays"]["sum"].__setitem__("blob", 99),
        lambda head: rank_of(head)["trace"]["calls"].__setitem__("names", []),
        lambda head: rank_of(head)["trace"]["calls"].__setitem__("names", ["\x1b[31m"] * 9),
        lambda head: rank_of(head)["trace"]["calls"].__setitem__("waits", 0),
    ],
)
def test_what_encode_never_writes_is_refused(change):
    """With one sentence, whatever it is."""
    with pytest.raises(UnreadableRecording, match="a recorded launch cannot be read"):
        decode(changed(observations()["trouble"], change))


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\x02{}", b"\xff" * 40])
def test_bytes_that_are_no_launch_are_refused(data):
    """Also those that end in the middle."""
    with pytest.raises(UnreadableRecording):
        decode(data)


@given(st.data())
def test_a_launch_that_was_cut_is_refused(data):
    """Wherever it was."""
    whole = encode(LaunchObservation((answered(exchanged()),)))
    with pytest.raises(UnreadableRecording):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
