"""What gloo sends, by samples: true contributions in every honest form, and what is for show."""

import pickle

import numpy as np
import pytest

from grader.judge.check_failures import NotProven
from grader.judge.traffic.payload_contents import assert_contributions_sent
from grader.model.report import Outcome
from grader.trace.calls import Trace
from grader.trace.layout import GLOO_SAMPLE_NUM_BYTES, NUM_GLOO_SAMPLES
from grader.trace.sent_by_gloo import GlooSamples

LENGTH = 3000
STEPS = 2


def gradients(ranks, seed=1):
    """Return gradients of a network with dead parts, of each rank for each step."""
    random = np.random.default_rng(seed)
    sizes = np.repeat(np.exp(random.standard_normal(LENGTH // 100)), 100)
    sizes[500:900] = 0
    return [
        [(sizes * random.standard_normal(LENGTH)).astype("f4") for _ in range(STEPS)]
        for _ in range(ranks)
    ]


class Sent:
    """Payloads of each rank, by operation."""

    def __init__(self, ranks):
        self.payloads = [{} for _ in range(ranks)]

    def send(self, rank, numbers, operation="all_reduce"):
        self.payloads[rank].setdefault(operation, []).append(np.asarray(numbers).tobytes())

    def check(self, arrays, operations=(), other_order=None):
        ranks = len(self.payloads)
        samples = tuple({name: sampled(each) for name, each in of.items()} for of in self.payloads)
        nothing = tuple({} for _ in range(ranks))
        outcome = Outcome("", ranks, nothing, nothing, Trace(()), 0.0, gloo_samples=samples)
        assert_contributions_sent(outcome, arrays, operations=operations, other_order=other_order)


def sampled(payloads):
    """Return samples of payloads, as the interposer takes them."""
    random = np.random.default_rng(len(payloads))
    long = [each for each in payloads if len(each) >= GLOO_SAMPLE_NUM_BYTES]
    taken = np.zeros((NUM_GLOO_SAMPLES, GLOO_SAMPLE_NUM_BYTES), "u1")
    lengths = np.array([len(each) for each in long], float)
    for row in taken if long else ():
        payload = long[random.choice(len(long), p=lengths / lengths.sum())]
        place = 8 * random.integers((len(payload) - GLOO_SAMPLE_NUM_BYTES) // 8 + 1)
        row[:] = np.frombuffer(payload, "u1")[place : place + GLOO_SAMPLE_NUM_BYTES]
    return GlooSamples(int(lengths.sum()), taken)


def as_it_is(array):
    return array


def in_bfloat16(array):
    return (np.asarray(array, "f4").view("<u4") >> 16).astype("<u2")


def ring(arrays, form=as_it_is, encode=as_it_is):
    """Return what a ring sends; form: what becomes of an array before, encode: of each chunk."""
    n = len(arrays)
    sent = Sent(n)
    for step in range(STEPS):
        chunks = [np.array_split(form(own[step]).copy(), n) for own in arrays]
        for hop in range(2 * (n - 1)):
            for rank in range(n):
                index, into = (rank - hop) % n, chunks[(rank + 1) % n]
                sent.send(rank, encode(chunks[rank][index]))
                is_reducing = hop < n - 1
                into[index] = chunks[rank][index] + (into[index] if is_reducing else 0)
    return sent


def gathered(arrays, form=as_it_is):
    """Return what goes to rank 0 and back."""
    sent = Sent(len(arrays))
    for step in range(STEPS):
        for rank, own in list(enumerate(arrays))[1:]:
            sent.send(rank, form(own[step]), "gather")
        for _ in arrays[1:]:
            sent.send(0, form(np.mean([own[step] for own in arrays], axis=0)), "scatter")
    return sent


HONEST = {
    "as they are": as_it_is,
    "divided before": lambda array: array / 4,
    "in half precision": lambda array: array.astype("f2"),
    "in double precision": lambda array: array.astype("f8") / 4,
    "from the last parameter on": lambda a: np.concatenate(np.split(a, 30)[::-1]),
    "scaled up, in half precision": lambda array: (100 * array).astype("f2"),
}


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("form", HONEST.values(), ids=HONEST)
@pytest.mark.parametrize("exchange", [ring, gathered])
def test_gradients_may_go_in_any_form(exchange, form, ranks):
    arrays = gradients(ranks)
    exchange(arrays, form).check(arrays)


def object_of(array):
    """Return an object's bytes, as a collective for objects sends them."""
    return np.frombuffer(pickle.dumps(array), "u1")


OBJECTS = {
    "an array": object_of,
    "an array in double precision": lambda array: object_of(array.astype("f8")),
    "an array in half precision": lambda array: object_of(array.astype("f2")),
    "arrays of all kinds": lambda array: object_of(dict(enumerate(np.split(array, 30)))),
    "a list of floats": lambda array: object_of(array.tolist()),
    "lists of floats": lambda array: object_of(array.reshape(-1, 100).tolist()),
}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("form", OBJECTS.values(), ids=OBJECTS)
def test_gradients_may_go_as_objects(form, ranks):
    """Whose numbers begin at any byte; floats of Python have another byte before each."""
    arrays = gradients(ranks)
    gathered(arrays, form).check(arrays)
    noise = gradients(ranks, seed=2)
    with pytest.raises(NotProven):
        gathered(noise, form).check(arrays)


def test_bfloat16_is_precise_enough():
    arrays = gradients(4)
    ring(arrays, encode=in_bfloat16).check(arrays)


def test_gradients_may_be_known_roughly():
    """As an oracle knows them, where rounding has decided some ReLU otherwise."""
    arrays = gradients(4)
    random = np.random.default_rng(2)
    rough = [[each * (1 + 0.1 * random.standard_normal(LENGTH)) for each in own] for own in arrays]
    ring(arrays).check(rough)


def test_arrays_may_be_sent_in_the_order_that_is_named():
    """As every fourth number, for example, and in no other."""
    order = np.concatenate([np.arange(LENGTH)[first::4] for first in range(4)])
    arrays = gradients(4)
    sent = ring(arrays, lambda array: array[order])
    sent.check(arrays, other_order=order)
    with pytest.raises(NotProven):
        sent.check(arrays)
    with pytest.raises(NotProven):
        sent.check(arrays, other_order=RANDOM.permutation(LENGTH))


def test_other_things_may_be_sent_by_the_same_operation():
    arrays = gradients(4)
    sent = ring(arrays)
    for rank in range(4):
        for _ in range(6):
            sent.send(rank, np.random.default_rng(rank).standard_normal(LENGTH).astype("f4"))
    sent.check(arrays)


def test_nothing_needs_to_be_sent_of_nothing():
    """Of a network that is dead, gradients are zeros."""
    arrays = [[np.zeros(LENGTH, "f4")] * STEPS] * 4
    ring(arrays).check(arrays)


def test_nothing_is_said_where_no_samples_were_taken():
    nothing = ({}, {})
    outcome = Outcome("", 2, nothing, nothing, Trace(()), 0.0, gloo_samples=(None, None))
    for each in (outcome, Outcome("", 2, nothing, nothing, Trace(()), 0.0)):
        assert_contributions_sent(each, gradients(2))


RANDOM = np.random.default_rng(7)
FOR_SHOW = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "noise": lambda array: RANDOM.standard_normal(len(array)).astype("f4"),
    "noise in half precision": lambda array: RANDOM.standard_normal(len(array)).astype("f2"),
    "noise in double precision": lambda array: RANDOM.standard_normal(len(array)),
    "bytes": lambda array: RANDOM.integers(256, size=4 * len(array), dtype="u1"),
    "one number in each sixteen": lambda a: np.where(np.arange(len(a)) % 16 == 3, a, 0),
    "a tenth": lambda array: np.where(np.arange(len(array)) < len(array) // 10, array, 0),
    "numbers in another order": RANDOM.permutation,
    "a line": lambda array: np.arange(len(array), dtype="f4"),
    "nothing but its beginning": lambda array: array[:3],
}


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("shown", FOR_SHOW.values(), ids=FOR_SHOW)
def test_what_is_for_show_proves_nothing(shown, ranks):
    arrays = gradients(ranks)
    with pytest.raises(NotProven) as error:
        ring(arrays, shown).check(arrays)
    assert error.value.findings[0].key == "evidence.contributions_not_sent"


def test_the_sum_over_all_ranks_is_no_contribution():
    """Who knows it has got it otherwise."""
    arrays = gradients(4)
    total = [[sum(own[step] for own in arrays) for step in range(STEPS)]] * 4
    sent = Sent(4)
    for rank in range(4):
        sent.send(rank, total[rank][0])
    with pytest.raises(NotProven):
        sent.check(arrays)


def test_only_the_operations_of_the_part_count():
    arrays = gradients(4)
    ring(arrays).check(arrays, ["all_reduce"])
    with pytest.raises(NotProven):
        ring(arrays).check(arrays, ["message"])
