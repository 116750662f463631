"""Whether messages carry what ranks contribute: pieces of arrays, sums and multiples of them.

Samples of a message are looked for in the sums over all sets of ranks that its sender can know of:
itself, and those that came with what it has received. Inputs of many random bits make this
possible: hardly two sets of ranks have the same sum at any place.
"""

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.check_failures import NotProven
from grader.judge.traffic.counting import assert_not_truncated, recorded_sends
from grader.trace.call_formatting import at, name_of
from grader.trace.calls import Call, Trace
from grader.trace.functions import BY_OTHER_THAN_MESSAGES

Values = NDArray[Any]
Ranks = frozenset[int]

_MOST_RANKS = 6
_MOST_SUMS = 1 << 18
_WORD_NUM_BYTES = 8
_SHORT_NUM_BYTES = 32
_PICKLED_NUMBER_NUM_BYTES = 200
"""More than the pickle of a single number has."""
_FEW_NUMBERS = 100
_RTOL = 1e-11
"""Of a number that was computed in another order."""
_FLOAT32_RTOL = 1e-6
_SHARE_OF_LARGEST = 0.01
_APART = 10
"""Times the tolerance: numbers that differ by less are taken for one."""


@dataclass(frozen=True)
class Message:
    """A message of one rank, and which ranks' contributions it may carry, summed up."""

    call: Call
    sets: frozenset[Ranks] | None
    """Empty where it carries no contribution; None where the samples cannot tell."""

    @property
    def is_contribution(self) -> bool:
        """Return whether it carries a contribution, as far as can be told."""
        return self.sets is None or bool(self.sets)

    @property
    def num_bytes(self) -> int:
        """Return the size without padding, as far as that can be told."""
        is_whole = self.sets is None or self.call.pickled
        return self.call.num_bytes if is_whole else self.call.sampled_num_bytes


def samples_of(call: Call, dtype: np.dtype[Any] | str) -> Values:
    """Return numbers from each third of a message, at random places.

    A sample is 8 bytes, as many numbers as these are. Empty where a message was not sampled, or is
    shorter than a number.
    """
    kind = np.dtype(dtype).newbyteorder("<")
    if call.sampled_num_bytes < kind.itemsize:
        return np.zeros(0, kind)
    words = [call.sample_first, call.sample_last, call.sample_middle]
    number = min(max(call.sampled_num_bytes // _WORD_NUM_BYTES, 1), len(words))
    return np.array(words[:number], "<i8").view(kind)


def is_zeros(call: Call) -> bool:
    """Return whether a message, or a rank's data for a collective, contains only zeros."""
    return 0 < call.sampled_num_bytes < 2 * _WORD_NUM_BYTES and not call.sample_first


def may_hold(call: Call, numbers: Values, *, scaled: bool = False) -> bool:
    """Return whether a message, or a rank's data for a collective, may be some of these numbers.

    scaled: or of a multiple of them, whose factor is the same for all. Most of its samples must
    be among them; a single number is no evidence of a multiple. A list of Python floats shows three
    of them; if two are zero, the other must be one of the numbers itself. float32 is accepted, and
    float64 that was computed in it. True if nothing was sampled, or if the samples are in a code
    that cannot be read.
    """
    if call.sampled_num_bytes <= 0:
        return True
    for samples, size in _readings(call, numbers.dtype):
        is_list = (
            call.pickled
            and call.sampled_num_bytes <= size
            and call.num_bytes > _PICKLED_NUMBER_NUM_BYTES
        )
        # Three numbers of few digits are no evidence of a multiple, unless there are few to match.
        is_telling = samples.dtype.itemsize == size or len(numbers) <= _FEW_NUMBERS
        is_scaled = scaled and not is_list and is_telling
        # A short list may have shown the same number more than once.
        number = len(set(samples.tolist())) if call.pickled else len(samples)
        least = max(-(-number // 2), _least_numbers(samples.dtype, size, is_scaled))
        if len(samples) and _are_among(samples, numbers, least, scaled=is_scaled):
            return True
    return False


def _readings(call: Call, dtype: np.dtype[Any]) -> Iterator[tuple[Values, int]]:
    """Yield the samples as numbers of this type and of float32, with the size of each number.

    float64 may have been computed in float32, and be no more precise.
    """
    samples = samples_of(call, dtype)
    yield samples, dtype.itemsize
    with np.errstate(all="ignore"):
        narrow = samples.astype("f4")
    if dtype.itemsize == _WORD_NUM_BYTES:
        if np.array_equal(narrow, samples):
            yield narrow, dtype.itemsize
        yield samples_of(call, "f4"), np.dtype("f4").itemsize


def _are_among(samples: Values, numbers: Values, least: int, *, scaled: bool) -> bool:
    """Return whether so many samples are among these numbers, or among one multiple of them.

    Each counts that is a number of its own.
    """
    rtol = _RTOL if samples.dtype.itemsize == _WORD_NUM_BYTES else _FLOAT32_RTOL
    with np.errstate(all="ignore"):
        # The largest first: by these a factor is known best.
        telling = _kept_apart(samples.tobytes(), samples.dtype.str, rtol, 0.0)[::-1]
        if len(telling) < least:
            return False
        # Rounding errors would be near to everything small.
        known = _kept_apart(numbers.tobytes(), numbers.dtype.str, rtol, rtol)
        places = _nearest(telling, known, rtol)
        places = places[places >= 0]
        if not scaled:
            return len(places) >= least
        # Most are sent as they are, which is quickly seen.
        return len(set(places.tolist())) >= least or any(
            _follow(telling[first:], known, least, rtol)
            for first in range(len(telling) - least + 1)
        )


# Many messages are compared with the same numbers, and each message with several.
@functools.lru_cache(64)
def _kept_apart(numbers: bytes, dtype: str, rtol: float, least_share: float) -> Values:
    return _apart(np.frombuffer(numbers, dtype), rtol, least_share)


def _follow(telling: Values, known: Values, least: int, rtol: float) -> bool:
    """Return whether so many are among a multiple of the known numbers that has the first of them.

    Each factor is given up as soon as too few are left.
    """
    factors = telling[0] / known
    is_left = np.isfinite(factors) & (factors > 0)
    factors, places = factors[is_left], np.flatnonzero(is_left)[np.newaxis]
    for number, sample in enumerate(telling[1:], start=2):
        nearest = _nearest(sample / factors, known, rtol)
        is_new = np.all(places != nearest, axis=0)
        places = np.vstack([places, np.where(is_new, nearest, -1)])
        is_left = np.sum(places >= 0, axis=0) + len(telling) - number >= least
        factors, places = factors[is_left], places[:, is_left]
    return len(factors) > 0


def _nearest(values: Values, known: Values, rtol: float) -> NDArray[np.intp]:
    """Return for each value the place of the known number that it is; -1 where it is none."""
    if not len(known):
        return np.full(len(values), -1)
    after = np.minimum(np.searchsorted(known, values), len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(values - known[before] < known[after] - values, before, after)
    # Small numbers that come of a difference have a larger error for their size.
    error = rtol * (values + known[-1] * _SHARE_OF_LARGEST)
    return np.where(np.abs(known[nearest] - values) <= error, nearest, -1)


def _least_numbers(dtype: np.dtype[Any], size: int, is_scaled: bool) -> int:
    """Return how many numbers have to be found, so that hardly any others pass for them.

    size: of each as it was sent; samples hold three numbers of 8 bytes.
    """
    if dtype.itemsize < _WORD_NUM_BYTES:
        return (3 if size == _WORD_NUM_BYTES else 4) if is_scaled else 2
    return 2 if is_scaled else 1


def _apart(numbers: Values, rtol: float, least_share: float = 0.0) -> Values:
    """Return the absolute values of numbers, in order, without zeros and what is nearly equal.

    least_share: of the largest; smaller ones are left out.
    """
    found = np.sort(np.abs(numbers[np.isfinite(numbers)].astype("f8")))
    found = found[found > least_share * np.max(found, initial=0.0)]
    return np.asarray(found[np.diff(found, prepend=0) > _APART * rtol * found])


def messages_with_contents(trace: Trace, arrays: Sequence[Values]) -> list[list[Message]]:
    """Return for each rank the messages that it sent to others, with what they carry.

    arrays: what each rank contributes to a sum, which is exact in any order of adding; empty if
    nothing is summed.
    """
    sets = _Sums(arrays)
    contents: list[list[Message]] = [[] for _ in trace.ranks]
    for rank, call, known in _in_time(trace):
        contents[rank].append(Message(call, sets.carried(call, known)))
    return contents


def assert_results_were_sent(trace: Trace, arrays: Sequence[Values]) -> None:
    """Assert that each rank receives all that a correct sum needs: every other rank's elements.

    Several ranks' elements may arrive as their sum. A rank can send its own elements, and sums
    with what it has received before; other data does not count. Raises NotProven.
    """
    assert_not_truncated(trace)
    n = len(trace.ranks)
    brought, beside = [0] * n, list[Call]()
    for message in chain.from_iterable(messages_with_contents(trace, arrays)):
        call, to = message.call, message.call.peer
        sets = (frozenset(range(n)),) if message.sets is None else message.sets
        brought[to] += message.num_bytes * max((len(ranks - {to}) for ranks in sets), default=0)
        beside += [] if sets else [call]
    what = "".join(
        f" (the first without such data: {name_of(call)}{at(call)})" for call in beside[:1]
    )
    for rank, num_bytes in enumerate(brought):
        needed = (n - 1) * np.asarray(arrays[rank]).nbytes if arrays else 0
        if num_bytes < needed:
            raise NotProven.of(
                "evidence.contents_not_sent",
                f"rank {rank} needs {needed} bytes of the other ranks' arrays, or of sums "
                f"of them. The messages sent to it delivered only {num_bytes} of these "
                f"bytes{what}. "
                "Its results might not come from messages; your instructor reviews this part",
                rank=rank,
                num_bytes=num_bytes,
                needed_num_bytes=needed,
            )


class _Sums:
    """The sums over all sets of ranks, by their value at any place."""

    def __init__(self, arrays: Sequence[Values]) -> None:
        flat = [np.asarray(each).reshape(-1) for each in arrays]
        self._dtype = flat[0].dtype if flat else np.dtype("f8")
        self._sets: dict[Any, set[Ranks]] | None = None
        n, length = len(flat), len(flat[0]) if flat else 0
        if 0 < n <= _MOST_RANKS and length << n <= _MOST_SUMS and self._dtype.itemsize in (4, 8):
            self._sets = defaultdict(set)
            for chosen in range(1, 1 << n):
                ranks = frozenset(rank for rank in range(n) if chosen >> rank & 1)
                with np.errstate(all="ignore"):
                    total: Values = np.asarray(sum(flat[rank] for rank in ranks))
                for value in total.tolist():
                    self._sets[value].add(ranks)

    def carried(self, call: Call, known: Ranks) -> frozenset[Ranks] | None:
        """Return of which of these ranks a message may be the sum."""
        values = samples_of(call, self._dtype)
        if self._sets is None or not len(values):
            return None
        sets = [self._sets.get(value, set()) for value in {*values.tolist()} if value]
        known_sets = [{ranks for ranks in each if ranks <= known} for each in sets]
        # Most samples have to be contributions; a head may be most of a short message.
        least = len(values) / 2 if call.sampled_num_bytes > _SHORT_NUM_BYTES else 1
        is_enough = sum(map(bool, known_sets)) >= least
        return frozenset[Ranks]().union(*known_sets) if is_enough else frozenset()


def _in_time(trace: Trace) -> Iterator[tuple[int, Call, Ranks]]:
    """Yield each message with its sender, and the ranks whose contributions that can know of.

    A receive that was never waited for counts from its call on, and a collective brings everything.
    """
    everyone = frozenset(range(len(trace.ranks)))
    events: list[tuple[int, bool, int, Call]] = []
    for rank, seen in enumerate(trace.ranks):
        events += [(call.entered_ns, True, rank, call) for call in recorded_sends(trace, rank)]
        brings = seen.calls.flag("is_receive") & (seen.calls.column("error") == 0)
        brings |= seen.calls.function_is(BY_OTHER_THAN_MESSAGES.__contains__)
        for call in seen.calls.where(brings):
            done = call.completed_ns if call.is_receive else 0
            events.append((done or call.entered_ns, False, rank, call))
    known: dict[int, Ranks] = {rank: frozenset({rank}) for rank in everyone}
    on_their_way: dict[int, Ranks] = defaultdict(frozenset)
    never_waits: set[int] = set()
    for _, is_send, rank, call in sorted(events, key=lambda event: event[:3]):
        if not is_send and not call.is_receive:
            known[rank] = everyone
        if not is_send and not call.completed_ns:
            never_waits.add(rank)
        if not is_send or rank in never_waits:
            known[rank] |= on_their_way[rank]
        if is_send:
            yield rank, call, known[rank]
            on_their_way[call.peer] |= known[rank]
