"""Whether messages carry what ranks contribute to a sum: pieces of arrays, and sums of them.

Samples of a message are looked for in the sums over all sets of ranks that its sender can know of:
itself, and those that came with what it has received. Inputs of many random bits make this
possible: hardly two sets of ranks have the same sum at any place.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.check_failures import NotProven
from grader.judge.traffic.counting import assert_not_truncated, recorded_sends
from grader.model.finding import found
from grader.trace.call_formatting import at, name_of
from grader.trace.calls import Call, Trace
from grader.trace.functions import BY_OTHER_THAN_MESSAGES

Values = NDArray[Any]
Ranks = frozenset[int]

_MOST_RANKS = 6
_MOST_SUMS = 1 << 18
_WORD_NUM_BYTES = 8


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


def samples_of(call: Call, dtype: np.dtype[Any] | str) -> Values:
    """Return the first, the middle and the last numbers of a message, each as its next ones.

    A sample is 8 bytes, as many numbers as these are. Empty where a message was not sampled, or is
    shorter than a number.
    """
    kind = np.dtype(dtype).newbyteorder("<")
    if call.sampled_num_bytes < kind.itemsize:
        return np.zeros(0, kind)
    words = [call.sample_first, call.sample_middle, call.sample_last]
    number = 1 if call.sampled_num_bytes <= _WORD_NUM_BYTES else len(words)
    return np.array(words[:number], "<i8").view(kind)


def messages_with_contents(trace: Trace, arrays: Sequence[Values]) -> list[list[Message]]:
    """Return for each rank the messages that it sent to others, with what they carry.

    arrays: what each rank contributes to a sum, which is exact in whatever order it is taken; empty
    where nothing is summed up.
    """
    sets = _Sums(arrays)
    contents: list[list[Message]] = [[] for _ in trace.ranks]
    for rank, call, known in _in_time(trace):
        contents[rank].append(Message(call, sets.carried(call, known)))
    return contents


def assert_results_were_sent(trace: Trace, arrays: Sequence[Values]) -> None:
    """Assert that each rank receives all that a correct sum needs: every other rank's elements.

    Several ranks' elements may come as one, their sum. A rank can send its own elements, and sums
    with what it has received before; what it sends else brings nothing. Raises NotProven.
    """
    assert_not_truncated(trace)
    n = len(trace.ranks)
    brought, beside = [0] * n, list[Call]()
    for message in chain.from_iterable(messages_with_contents(trace, arrays)):
        call, to = message.call, message.call.peer
        sets = (frozenset(range(n)),) if message.sets is None else message.sets
        brought[to] += call.num_bytes * max((len(ranks - {to}) for ranks in sets), default=0)
        beside += [] if sets else [call]
    what = "".join(
        f" (the first that holds no such sum: {name_of(call)}{at(call)})" for call in beside[:1]
    )
    for rank, num_bytes in enumerate(brought):
        needed = (n - 1) * np.asarray(arrays[rank]).nbytes if arrays else 0
        if num_bytes < needed:
            raise NotProven(
                found(
                    "evidence.contents_not_sent",
                    f"rank {rank} needs {needed} bytes of the other ranks' arrays, or of sums "
                    f"of them; its messages{what} deliver {num_bytes}. Its results may not "
                    "come from messages; your instructor reviews this part",
                    rank=rank,
                    num_bytes=num_bytes,
                    needed_num_bytes=needed,
                )
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
        found = (self._sets.get(value, set()) for value in values.tolist() if value)
        sets = set[Ranks]().union(*found)
        return frozenset(ranks for ranks in sets if ranks <= known)


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
