"""Whether messages are told to hold gradients and models, by their samples."""

from dataclasses import replace

import numpy as np
import pytest
from federated import contents, lenet
from federated.contents import assert_contents, expected, may_hold_multiple, sums_with

from grader.judge.check_failures import NotProven

from .runs import START, raises
from .test_origins import MODEL, RANKS, send, trace_of

RANDOM = np.random.default_rng(5)
GRADIENTS = {rank: RANDOM.normal(0, 1e-3, lenet.NUM_PARAMETERS) for rank in range(RANKS)}
FACTORS = (1.0, 50.0)


def message(numbers, dtype="f4", places=(0.2, 0.5, 0.9)):
    """Return a message of these numbers, sampled at these places."""
    raw = np.asarray(numbers, dtype).tobytes()
    words = [8 * int(place * (len(raw) // 8)) for place in places]
    first, middle, last = (int.from_bytes(raw[at : at + 8], "little", signed=True) for at in words)
    samples = {"sample_first": first, "sample_middle": middle, "sample_last": last}
    return replace(send(0, 0, len(raw)), sampled_num_bytes=len(raw), **samples)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("times", [1, 50, -1])
def test_usual_multiples_are_told_in_all_precisions(dtype, times):
    assert may_hold_multiple(message(times * GRADIENTS[0], dtype), expected(GRADIENTS[0]), FACTORS)


def test_any_multiple_will_do_where_all_samples_have_it():
    assert may_hold_multiple(message(0.37 * GRADIENTS[0]), expected(GRADIENTS[0]), FACTORS)


@pytest.mark.parametrize("piece", [slice(450, 3000), slice(1, 20_000), slice(40_000, None)])
def test_pieces_are_told(piece):
    assert may_hold_multiple(message(GRADIENTS[0][piece]), expected(GRADIENTS[0]), FACTORS)


def test_rounding_by_another_order_is_allowed():
    off = GRADIENTS[0] * (1 + RANDOM.normal(0, 1e-6, lenet.NUM_PARAMETERS))
    assert may_hold_multiple(message(off), expected(GRADIENTS[0]), FACTORS)


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-3])
def test_noise_of_any_size_is_not(size):
    noise = [message(RANDOM.normal(0, size, lenet.NUM_PARAMETERS)) for _ in range(5)]
    assert sum(may_hold_multiple(each, expected(GRADIENTS[0]), FACTORS) for each in noise) == 0


def test_a_model_is_told_from_the_one_before():
    """What all ranks started with is known to all."""
    way = -lenet.LEARNING_RATE * GRADIENTS[0]
    after = expected(way, START.astype(float))
    assert may_hold_multiple(message(START + way), after, FACTORS)
    assert not may_hold_multiple(message(START), after, FACTORS)


def test_sums_have_the_own_vector_first():
    sums = sums_with(1, GRADIENTS)
    assert len(sums) == 4
    assert np.array_equal(sums[0], GRADIENTS[1])
    assert np.allclose(sums[-1], sum(GRADIENTS.values()))
    assert np.array_equal(sums_with(1, GRADIENTS, has_sum_of_all=False), sums[:-1])


def trace_giving(arrays):
    """Return a trace in which workers send these to the server."""
    trace = trace_of({})
    ranks = [
        replace(seen, calls=tuple(replace(message(each), sequence=i) for i, each in enumerate(of)))
        for seen, of in zip(trace.ranks, arrays, strict=True)
    ]
    return replace(trace, ranks=tuple(ranks))


EXPECTED = {rank: [[expected(GRADIENTS[rank])]] for rank in (1, 2)}


def test_each_rank_is_asked_where_training_is_right():
    own = trace_giving([[], [GRADIENTS[1]], [GRADIENTS[2]]])
    assert_contents(own, EXPECTED, EXPECTED.get, FACTORS, is_right=True, least=2)
    noise = RANDOM.normal(0, 1e-3, lenet.NUM_PARAMETERS)
    one = trace_giving([[], [GRADIENTS[1]], [noise]])
    assert_contents(one, EXPECTED, EXPECTED.get, FACTORS, is_right=False, least=1)
    with raises("evidence.models_not_given", kind=NotProven, rank=2, num_bytes=0):
        assert_contents(one, EXPECTED, EXPECTED.get, FACTORS, is_right=True, least=2)


def test_one_gradient_again_and_again_is_that_of_one_step():
    twice = trace_giving([[], [GRADIENTS[1]] * 6, []])
    steps = {1: [[expected(GRADIENTS[1])], *[[expected(GRADIENTS[2])]] * 5]}
    with raises("evidence.models_not_given", kind=NotProven, num_bytes=MODEL):
        assert_contents(twice, steps, steps.get, FACTORS, is_right=True, least=1)


def test_data_does_not_keep_smaller_messages_from_being_looked_at(monkeypatch):
    """It matches none of all that a rank may give."""
    monkeypatch.setattr(contents, "_MOST_COMPARISONS_OF_A_SIZE", 10)
    data = [RANDOM.normal(0, 1, lenet.NUM_PARAMETERS) for _ in range(30)]
    pieces = np.array_split(GRADIENTS[1], 3)
    trace = trace_giving([[], [*data, *pieces], []])
    steps = {1: [[expected(GRADIENTS[1]), expected(GRADIENTS[2])]]}
    monkeypatch.setattr(contents, "_MOST_COMPARISONS", 30)
    assert_contents(trace, steps, steps.get, FACTORS, is_right=True, least=1)


def test_what_is_no_number_matches_none():
    """And warns of nothing."""
    nothing = np.full(1000, 0x7F800001, "u4").view("f4")
    with np.errstate(all="raise"):
        assert not may_hold_multiple(message(nothing), expected(GRADIENTS[0]), FACTORS)
        assert not may_hold_multiple(
            message(np.full(1000, np.nan), "f8"), expected(GRADIENTS[0]), FACTORS
        )
