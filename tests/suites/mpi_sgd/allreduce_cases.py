"""What both all-reduce parts are called with: each ability is a subject, with its own cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from grader.api import Array, Case, Data, Outcome

from .allreduce_numbers import DRAWN, ONE_OF_ITS_OWN, SERIAL, Values, drawn, drawn_op
from .probes.reducing import long_array

RANKS = [1, 2, 3, 4, 5, 8, 16]
SEVERAL_RANKS = RANKS[1:]

GARBAGE = 777
"""What recv holds before the call, everywhere."""
PLAIN_LENGTH = 240
"""Every number of ranks divides it."""
_TIMED_LENGTH = 3 << 18
"""6 MiB of float64: long enough for the copying, not the starting of messages, to take the time."""
_MOST_DRAWN = 40_000
"""Of the elements of all ranks together: some code sends each by itself, which takes long."""
_LONG_LENGTH = 100_357
"""800 kB of float64: far more than MPI buffers."""
_FIRST_TIMES = 3
_MORE_TIMES = 5
"""Also of the yardstick: each takes some 10 ms, so another program may disturb three in a row."""


@dataclass(frozen=True, kw_only=True)
class Reduction(Case):
    """One array on each rank, reduced by one op."""

    file: str
    function: str
    shape: tuple[int, ...]
    op: str
    dtype: str = "float64"
    purpose: str = "values"
    """`values`, or one of `yardstick` and `timing`, between which wall times are compared."""
    number: int = 0
    """Tells cases apart that only differ in being measured again."""
    given: tuple[bytes, ...] = ()
    """What each rank contributes, where it is to be what it was in another case."""

    @property
    def num_elements(self) -> int:
        """Return how many elements every rank contributes."""
        return prod(self.shape)

    @property
    def row_num_elements(self) -> int:
        """Return how many elements one index of the first dimension holds: 1 in a plain vector."""
        return prod(self.shape[1:])

    @property
    def item_num_bytes(self) -> int:
        """Return the size of one element."""
        return np.dtype(self.dtype).itemsize

    @property
    def is_long(self) -> bool:
        """Return whether MPI does not store its messages: their arrays are read after the call."""
        return self.num_elements >= _LONG_LENGTH

    @property
    def shows_traffic(self) -> bool:
        """Return whether the rules on traffic can be judged by this case."""
        is_plain_call = self.probe == "reduce_once" and not self.synchronous_sends
        # Code that sends element by element makes more calls for a long array than are kept.
        is_plain_call &= self.num_elements > 0 and not self.is_long
        # A number that is reduced twice does not change a maximum.
        return is_plain_call and self.op != "np.maximum"

    @property
    def label(self) -> str:
        """Return length or shape, op and dtype."""
        one_dimensional = len(self.shape) == 1
        size = f"length {self.shape[0]}" if one_dimensional else f"shape {_times(self.shape)}"
        special = f", {self.purpose} {self.number}" if self.purpose != "values" else ""
        return f"{size}, {self.op}, {self.dtype}{special}{self.perturbation}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank its array, and for the student's calls what to call and how."""
        call = {"file": self.file, "function": self.function, "op": self.op}
        if self.given:
            sends = [np.frombuffer(each, self.dtype).reshape(self.shape) for each in self.given]
            return [{**call, "send": send, "fill": GARBAGE} for send in sends]
        if self.purpose == "values":
            sends = [drawn(random, self.op, self.dtype, self.shape) for _ in range(ranks)]
            return [{**call, "send": send, "fill": GARBAGE} for send in sends]
        seeds = [int(random.integers(1 << 62)) for _ in range(ranks)]
        work = [{"seed": seed, "length": self.num_elements} for seed in seeds]
        return work if self.purpose == "yardstick" else [{**call, **each} for each in work]

    def as_given(self, outcome: Outcome) -> "Reduction":
        """Return the case with the shape that its arrays had."""
        return self

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of recv, and of send where it is looked at again."""
        form = Array(self.dtype, self.shape, finite=False)
        if self.purpose == "yardstick":
            return {}
        if self.purpose == "timing":
            return {"recv": form}
        more = {"meant": Array(self.dtype, (None,), finite=False)} if self.given else {}
        return {"recv": form, "send": form, **more}

    def reduce_serially(self, inputs: Sequence[Mapping[str, Any]]) -> Values:
        """Return the reduction of all ranks' arrays, taken in rank order."""
        if self.purpose == "values":
            sends = [given["send"] for given in inputs]
        else:
            sends = [long_array(given["seed"], given["length"]) for given in inputs]
        return np.asarray(reduce(SERIAL[self.op], sends))


@dataclass(frozen=True, kw_only=True)
class GroupReduction(Reduction):
    """The same on two communicators at once: one of even and one of odd ranks, both backwards."""

    @property
    def label(self) -> str:
        """Return that it is about communicators, beside length, op and dtype."""
        return f"a communicator of even ranks and one of odd ones, {super().label}"

    @staticmethod
    def members(rank: int, ranks: int) -> range:
        """Return the ranks on the communicator that `rank` is on."""
        return range(rank % 2, ranks, 2)


@dataclass(frozen=True, kw_only=True)
class ReductionsInARow(Reduction):
    """Calls in a row on one communicator, before and in which a rank is late now and then."""

    num_calls: int = 40
    share_late_within: float = 1 / 2
    """Of the calls, those in which a send leaves late."""

    @property
    def label(self) -> str:
        """Return how many calls there are, beside length, op and dtype."""
        return f"{self.num_calls} calls in a row, {super().label}"

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank all its arrays, before which calls it is late, and in which sends.

        `late_sends` holds for each call the number of the send that is delayed, or -1.
        """
        shape = (self.num_calls, *self.shape)
        who = random.integers(ranks, size=(2, self.num_calls))
        which = random.integers(1, ranks - 1, self.num_calls)
        is_before = random.random(self.num_calls) < 1 / 4
        is_within = random.random(self.num_calls) < self.share_late_within
        return [
            {
                "file": self.file,
                "function": self.function,
                "op": self.op,
                "fill": GARBAGE,
                "sends": drawn(random, self.op, self.dtype, shape),
                "late_calls": ((who[0] == rank) & is_before).astype(np.int64),
                "late_sends": np.where((who[1] == rank) & is_within, which, -1),
            }
            for rank in range(ranks)
        ]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of recv after each call."""
        return {"recvs": Array(self.dtype, (self.num_calls, *self.shape), finite=False)}

    def with_long_delays(self) -> "ReductionsInARow":
        """Return a few calls, in each of which a send leaves later than code may sleep in each.

        Arrays are short, so that no other send waits for a rank that is late.
        """
        probe = "reduce_with_long_delays"
        return replace(self, probe=probe, shape=(8,), num_calls=6, share_late_within=1)


@dataclass(frozen=True, kw_only=True)
class DrawnReduction(Reduction):
    """One whose op or length is drawn, so that no code can be made for the listed ones alone."""

    purpose: str = "drawn"
    least_length: int = PLAIN_LENGTH
    most_length: int = PLAIN_LENGTH

    @property
    def is_long(self) -> bool:
        """Return whether the length may be one of which MPI does not store the messages."""
        return self.most_length > PLAIN_LENGTH

    @property
    def label(self) -> str:
        """Return what is drawn, op and dtype."""
        above = f" above {PLAIN_LENGTH}" if self.is_long else ""
        is_drawn = self.least_length != self.most_length
        length = f"a random length{above}" if is_drawn else f"length {self.num_elements}"
        number = "" if self.op == "np.add" else ", a random a"
        return f"{length}, {self.op}{number}, {self.dtype}"

    def as_given(self, outcome: Outcome) -> "DrawnReduction":
        """Return the case with the length that was drawn."""
        length = len(outcome.inputs[0]["send"])
        return replace(self, shape=(length,), least_length=length, most_length=length)

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return for every rank its array, and what is drawn of the op."""
        least, most = np.log([self.least_length, self.most_length + 1])
        length = max(self.least_length, int(np.exp(random.uniform(least, most))))
        number, sends = drawn_op(random, self.op, ranks, length)
        call = {"file": self.file, "function": self.function, "op": self.op, "drawn": number}
        return [{**call, "send": send, "fill": GARBAGE} for send in sends]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of recv."""
        return {"recv": Array(self.dtype, (None,), finite=False)}

    def reduce_serially(self, inputs: Sequence[Mapping[str, Any]]) -> Values:
        """Return the reduction of all ranks' arrays, taken in rank order."""
        op = partial(DRAWN[self.op], inputs[0]["drawn"])
        return np.asarray(reduce(op, [given["send"] for given in inputs]))


def cases_by_ranks(file: str, function: str) -> dict[int, tuple[Reduction, ...]]:
    """Return all cases of one part for every number of ranks: one launch each."""
    return {ranks: _cases(ranks, file, function) for ranks in RANKS}


def timing_cases(file: str, function: str, attempt: int) -> tuple[Reduction, ...]:
    """Return yardsticks, then one small call that loads the student's file, then as many of theirs.

    The yardsticks come first because until then no code of the student has run in these processes.
    """
    loads_the_file = Reduction(
        "reduce_once", subject="plain", file=file, function=function, shape=(10,), op="np.add"
    )
    return (
        *_timed(file, function, "mpi_reduces_long", "yardstick", attempt),
        loads_the_file,
        *_timed(file, function, "reduce_long", "timing", attempt),
    )


def _cases(ranks: int, file: str, function: str) -> tuple[Reduction, ...]:
    def once(
        subject: str,
        shape: tuple[int, ...] = (PLAIN_LENGTH,),
        op: str = "np.add",
        dtype: str = "float64",
        synchronous_sends: bool = False,
    ) -> Reduction:
        return Reduction(
            "reduce_once",
            synchronous_sends,
            subject=subject,
            file=file,
            function=function,
            shape=shape,
            op=op,
            dtype=dtype,
        )

    def other(kind: type[Reduction], probe: str, subject: str) -> Reduction:
        shape = (PLAIN_LENGTH,)
        return kind(probe, subject=subject, file=file, function=function, shape=shape, op="np.add")

    def drawn_once(subject: str, op: str, **more: Any) -> Reduction:
        shape = (PLAIN_LENGTH,)
        return DrawnReduction(
            "reduce_drawn",
            subject=subject,
            file=file,
            function=function,
            shape=shape,
            op=op,
            **more,
        )

    if ranks == 1:
        return (
            once("one process", (13,)),
            once("one process", (5, 7), ONE_OF_ITS_OWN, "int64"),
        )
    plain = [once("plain")]
    lengths = [once("any length", (length,)) for length in _LENGTHS.get(ranks, ())]
    fewer = [once("fewer elements", (length,)) for length in _FEWER_ELEMENTS.get(ranks, ())]
    unbuffered = [once("unbuffered", synchronous_sends=True)]
    # Some code has another way for long arrays on many ranks.
    above = drawn_once(
        "any length",
        "np.add",
        least_length=PLAIN_LENGTH + 1,
        most_length=_MOST_DRAWN // ranks,
    )
    if ranks not in (3, 4):
        special: list[Reduction] = []
        if ranks == 2:
            special = _timed(file, function, "reduce_long", "timing", 0)
            plain = [*_timed(file, function, "mpi_reduces_long", "yardstick", 0), *plain]
        if ranks == 5:
            special = [other(GroupReduction, "reduce_in_groups", "communicators")]
        return (*plain, *lengths, *fewer, *special, above, *unbuffered)

    abilities = [
        once("op", op="np.maximum"),
        once("op", op="np.multiply"),
        once("op", op="MPI.SUM"),
        once("op", op="lambda x, y: x + y"),
        once("op", op=ONE_OF_ITS_OWN),
        once("op", op="np.bitwise_xor", dtype="int64"),
        drawn_once("op", "lambda x, y: x + y + a * x * y"),
        drawn_once("op", "lambda x, y: x ^ y ^ a", dtype="int64"),
        # Of odd size, in chunks and on 3 ranks as a whole: no doubles, whatever the call says.
        once("dtype", (35 * ranks,), dtype="float32"),
        once("dtype", dtype="int64"),
        once("dimensions", (5, 2 * ranks)),
        once("dimensions", (2, 5, ranks)),
        once("no dimensions", ()),
        once("no elements", (0,)),
        once("no elements", (0, 3)),
    ]
    if ranks == 4:
        abilities.append(other(ReductionsInARow, "reduce_in_a_row", "in a row"))
    long = once("any length", (_LONG_LENGTH,))
    any_length = drawn_once("any length", "np.add", least_length=ranks + 1)
    return (*plain, *lengths, any_length, *fewer, *abilities, long, above, *unbuffered)


_LENGTHS = {2: (7, 13), 3: (7, 13, 97), 4: (7, 13, 97), 5: (7, 13, 97), 16: (43, 97)}
"""By ranks: not one of them is a multiple, and all are larger."""
_FEWER_ELEMENTS = {2: (1,), 3: (1, 2), 4: (1, 3), 8: (1, 7)}


def _timed(file: str, function: str, probe: str, purpose: str, attempt: int) -> list[Reduction]:
    times = _FIRST_TIMES if purpose == "timing" and attempt == 0 else _MORE_TIMES
    return [
        Reduction(
            probe,
            subject="time",
            file=file,
            function=function,
            shape=(_TIMED_LENGTH,),
            op="np.add",
            purpose=purpose,
            number=10 * attempt + i,
        )
        for i in range(times)
    ]


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "()"
