"""Whether messages carry contributions to a sum; algorithms are simulated with real arrays."""

import numpy as np
import pytest

from grader.judge.check_failures import NotProven
from grader.judge.traffic.contents import (
    assert_results_were_sent,
    is_zeros,
    may_hold,
    messages_with_contents,
)

from ..build import Run, samples_of_bytes

LENGTH = 24
RANKS = (2, 3, 4, 6)


class Exchange:
    """Ranks whose messages are recorded with samples, as the interposer takes them."""

    def __init__(self, ranks, dtype="f8"):
        random = np.random.default_rng(ranks)
        self.run, self.ranks, self.random = Run(ranks), range(ranks), random
        numbers = random.integers(-(2**40), 2**40, (ranks, LENGTH))
        self.arrays = list((numbers / 2**30).astype(dtype) if dtype == "f8" else numbers)

    def send(self, rank, to, numbers, is_sampled=True):
        """Send numbers; return what arrives."""
        raw = np.ascontiguousarray(numbers).tobytes()
        samples = samples_of_bytes(raw, self.random)
        fields = {"num_elements": numbers.size, "num_bytes": len(raw)}
        self.run.isend(rank, to, **fields, **(samples if is_sampled else {}))
        self.run.recv(to, rank)
        return np.array(numbers)

    def check(self):
        assert_results_were_sent(self.run.trace(), self.arrays)


def naive(of, shown=lambda array: array):
    for rank in of.ranks:
        for other in of.ranks:
            if other != rank:
                of.send(rank, other, shown(of.arrays[rank]))


def ring(of, shown=lambda array: array, arrays=None, num_chunks=None):
    """Of more chunks than ranks each block of them goes around by itself."""
    n = len(of.ranks)
    blocks = [np.array_split(np.array(each), num_chunks or n) for each in arrays or of.arrays]
    for begin in range(0, num_chunks or n, n):
        for step in range(2 * (n - 1)):
            places = [begin + (rank - step) % n for rank in of.ranks]
            out = [np.array(blocks[rank][places[rank]]) for rank in of.ranks]
            for rank in of.ranks:
                got = of.send(rank, (rank + 1) % n, shown(out[rank]))
                into = blocks[(rank + 1) % n][places[rank]]
                into[...] = into + got if step < n - 1 else got
    return [np.concatenate(each) for each in blocks]


def recursive_doubling(of):
    totals, step = [np.array(each) for each in of.arrays], 1
    while step < len(of.ranks):
        got = [of.send(rank ^ step, rank, totals[rank ^ step]) for rank in of.ranks]
        totals = [mine + theirs for mine, theirs in zip(totals, got, strict=True)]
        step *= 2


def halving_and_doubling(of):
    totals = [np.array(each) for each in of.arrays]
    spans, step = [(0, LENGTH)] * len(of.ranks), len(of.ranks) // 2
    steps = []
    while step:
        for rank in of.ranks:
            begin, end = spans[rank]
            half = (begin + end) // 2
            spans[rank] = (half, end) if rank & step else (begin, half)
        got = [
            of.send(rank ^ step, rank, totals[rank ^ step][slice(*spans[rank])])
            for rank in of.ranks
        ]
        for rank in of.ranks:
            totals[rank][slice(*spans[rank])] += got[rank]
        steps.append(step)
        step //= 2
    for step in reversed(steps):
        got = [
            of.send(rank ^ step, rank, totals[rank ^ step][slice(*spans[rank ^ step])])
            for rank in of.ranks
        ]
        for rank in of.ranks:
            totals[rank][slice(*spans[rank ^ step])] = got[rank]
        spans = [
            (min(spans[r][0], spans[r ^ step][0]), max(spans[r][1], spans[r ^ step][1]))
            for r in of.ranks
        ]


def by_a_root(of):
    for rank in of.ranks[1:]:
        of.send(rank, 0, of.arrays[rank])
    for rank in of.ranks[1:]:
        of.send(0, rank, sum(of.arrays))


def along_a_chain(of):
    total = of.arrays[0]
    for rank in of.ranks[1:]:
        total = of.send(rank - 1, rank, total) + of.arrays[rank]
    for rank in reversed(of.ranks[1:]):
        of.send(rank, rank - 1, total)


def in_halves(of):
    n = len(of.ranks)
    for half in np.split(np.arange(LENGTH), 2):
        for rank in of.ranks:
            for hop in range(1, n):
                of.send(rank, (rank + hop) % n, of.arrays[rank][half])


def with_sizes_and_flags(of):
    for rank in of.ranks:
        of.send(rank, (rank + 1) % len(of.ranks), np.array([LENGTH, 7, 1]))
        of.send(rank, (rank + 1) % len(of.ranks), np.ones(1, "i1"))
    naive(of)


def padded(of):
    naive(of, shown=lambda array: np.concatenate([array, np.zeros(LENGTH)]))


def with_heads(of):
    naive(of, shown=lambda array: np.concatenate([[LENGTH, 7.0], array]))


def one_by_one_with_heads(of):
    for place in range(LENGTH):
        naive(of, shown=lambda array, place=place: np.array([LENGTH, place, array[place]]))


ALGORITHMS = [
    *(naive, ring, by_a_root, along_a_chain, in_halves, with_sizes_and_flags, padded),
    *(with_heads, one_by_one_with_heads),
]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_right_algorithm_is_never_doubted(algorithm, ranks):
    of = Exchange(ranks)
    algorithm(of)
    of.check()


@pytest.mark.parametrize("algorithm", [recursive_doubling, halving_and_doubling])
@pytest.mark.parametrize("ranks", [2, 4])
def test_nor_is_one_for_powers_of_two(algorithm, ranks):
    of = Exchange(ranks)
    algorithm(of)
    of.check()


@pytest.mark.parametrize("num_chunks", [8, 24])
def test_nor_is_a_ring_in_segments_nor_element_by_element(num_chunks):
    of = Exchange(4)
    results = ring(of, num_chunks=num_chunks)
    assert all(np.array_equal(result, sum(of.arrays)) for result in results)
    of.check()


def test_nor_are_whole_numbers():
    of = Exchange(4, "i8")
    ring(of)
    of.check()


def test_what_is_not_sampled_counts_as_a_contribution():
    of = Exchange(4)
    of.send, send = lambda *message: send(*message, is_sampled=False), of.send
    ring(of, shown=np.zeros_like)
    of.check()


def test_nothing_is_said_of_more_ranks_than_can_be_looked_through():
    of = Exchange(7)
    ring(of, shown=np.zeros_like)
    of.check()


def test_nothing_is_said_where_nothing_is_summed_up():
    of = Exchange(3)
    naive(of, shown=np.zeros_like)
    assert_results_were_sent(of.run.trace(), [])


def true_where(*places):
    """Return what leaves an array as it is at these places, and makes all else zeros."""

    def shown(array):
        sparse = np.zeros_like(array)
        sparse[[*places]] = array[[*places]] if len(array) > LENGTH // 2 else 0
        return sparse

    return shown


def totals_at_once(of):
    ring(of, arrays=[sum(of.arrays)] + [np.zeros(LENGTH)] * (len(of.ranks) - 1))


def own_pieces_only(of):
    n = len(of.ranks)
    for step in range(2 * (n - 1)):
        for rank in of.ranks:
            of.send(rank, (rank + 1) % n, np.array_split(of.arrays[rank], n)[(rank - step) % n])


def zeros_as_the_result(of):
    steps = iter(range(10_000))
    half = len(of.ranks) * (len(of.ranks) - 1)
    ring(of, shown=lambda chunk: chunk if next(steps) < half else chunk * 0)


@pytest.mark.parametrize(
    "attack",
    [
        lambda of: ring(of, arrays=[np.zeros(LENGTH) for _ in of.ranks]),
        lambda of: naive(of, shown=np.zeros_like),
        lambda of: ring(of, arrays=[np.arange(1.0, LENGTH + 1) + rank for rank in of.ranks]),
        lambda of: naive(of, shown=lambda array: sum(of.arrays)),
        lambda of: naive(of, shown=lambda array: array[:1]),
        lambda of: ring(of, shown=true_where(0, -1)),
        lambda of: naive(of, shown=true_where(0, LENGTH // 2, -1)),
        lambda of: naive(of, shown=lambda array: np.full(LENGTH, array[0])),
        totals_at_once,
        own_pieces_only,
        zeros_as_the_result,
    ],
)
@pytest.mark.parametrize("ranks", [3, 4])
def test_messages_for_show_prove_nothing(attack, ranks):
    of = Exchange(ranks)
    attack(of)
    with pytest.raises(NotProven) as error:
        of.check()
    assert error.value.findings[0].key == "evidence.contents_not_sent"


def test_a_rank_knows_what_came_with_what_it_has_received():
    """And nothing of what it receives later."""
    of = Exchange(3)
    of.send(0, 1, of.arrays[0])
    of.send(1, 2, of.arrays[0] + of.arrays[1])
    of.send(1, 0, of.arrays[1] + of.arrays[2])
    contents = messages_with_contents(of.run.trace(), of.arrays)
    assert [[message.sets for message in sent] for sent in contents] == [
        [frozenset({frozenset({0})})],
        [frozenset({frozenset({0, 1})}), frozenset()],
        [],
    ]


GRADIENT = np.random.default_rng(5).standard_normal(200)


def given(numbers, random=None, **more):
    """Return a call that gives these numbers to a collective."""
    raw = np.asarray(numbers).tobytes()
    fields = samples_of_bytes(raw, random or np.random.default_rng(len(raw)))
    run = Run(1)
    run.call(0, "Allreduce", **{"num_bytes": len(raw), **fields, **more})
    return run.trace().ranks[0].calls[0]


@pytest.mark.parametrize(
    "numbers",
    [
        GRADIENT,
        -0.3 * GRADIENT / 7,
        GRADIENT[50:80],
        np.concatenate([[3.0], GRADIENT[::-1]]),
        np.concatenate([2 * GRADIENT, np.zeros(500)]),
        GRADIENT[:2],
        GRADIENT.astype("f4"),
        (-0.3 * GRADIENT / 7).astype("f4"),
        np.concatenate([[3.0], GRADIENT[:9]]).astype("f4"),
    ],
)
def test_a_multiple_may_be_held_in_any_order(numbers):
    assert may_hold(given(numbers), GRADIENT, scaled=True)


@pytest.mark.parametrize(
    "numbers",
    [
        np.zeros(200),
        np.ones(200),
        np.random.default_rng(1).standard_normal(200),
        GRADIENT + 1,
        [GRADIENT[0]],
        np.where(np.arange(200) == 100, GRADIENT, 0),
        np.where(np.arange(200) % 40, 0, GRADIENT),
    ],
)
def test_what_is_for_show_is_no_multiple(numbers):
    assert not may_hold(given(numbers), GRADIENT, scaled=True)


def test_a_list_may_show_no_more_than_one_number():
    """Of Python floats, where the others are zero."""
    shown = {"pickled": True, "num_bytes": 9 * len(GRADIENT)}
    assert may_hold(given(GRADIENT[-1:], **shown), GRADIENT, scaled=True)
    assert not may_hold(given(2 * GRADIENT[-1:], **shown), GRADIENT, scaled=True)
    assert not may_hold(given(GRADIENT[-1:], pickled=True), GRADIENT, scaled=True)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    "drawn",
    [
        lambda random: random.standard_normal(3),
        lambda random: random.standard_normal(200),
        lambda random: 1 + 1e-11 * random.standard_normal(200),
        lambda random: 1 + 1e-6 * random.standard_normal(200),
        lambda random: random.choice([1.7e308, 1e-3, 1e-300], 200),
        lambda random: random.integers(1, 100, 200),
    ],
)
def test_no_numbers_pass_by_chance(drawn, dtype):
    random = np.random.default_rng(2)
    numbers = np.random.default_rng(5).standard_normal(1000)
    for _ in range(40):
        with np.errstate(over="ignore"):
            shown = given(drawn(random).astype(dtype), random)
        assert not may_hold(shown, numbers, scaled=True)


def test_without_a_factor_numbers_have_to_be_the_same():
    assert may_hold(given(GRADIENT), GRADIENT)
    assert may_hold(given(GRADIENT.astype("f4")), GRADIENT)
    assert not may_hold(given(2 * GRADIENT.astype("f4")), GRADIENT)
    assert not may_hold(given(2 * GRADIENT), GRADIENT)
    assert not may_hold(given(np.zeros(200)), GRADIENT)
    assert not may_hold(given(GRADIENT), np.zeros(200))


def test_doubles_may_have_been_rounded_to_single_precision():
    """As in a list of what an array of float32 holds."""
    rounded = (GRADIENT / 3).astype("f4").astype("f8")
    assert may_hold(given(rounded), GRADIENT / 3)
    assert not may_hold(given(rounded), GRADIENT, scaled=True)
    others = np.random.default_rng(1).standard_normal(200).astype("f4").astype("f8")
    assert not may_hold(given(others), GRADIENT, scaled=True)


def test_what_was_not_sampled_may_hold_anything():
    run = Run(1)
    run.call(0, "Allreduce", num_bytes=800)
    assert may_hold(run.trace().ranks[0].calls[0], GRADIENT, scaled=True)


def test_zeros_are_told_from_sparse_numbers():
    assert is_zeros(given(np.zeros(100)))
    assert not is_zeros(given(np.where(np.arange(100) == 7, 1.5, 0)))
    run = Run(1)
    run.call(0, "Allreduce", num_bytes=800)
    assert not is_zeros(run.trace().ranks[0].calls[0])
