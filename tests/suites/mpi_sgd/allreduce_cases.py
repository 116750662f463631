"""What both all-reduce parts are called with, and what must come of it.

All values are chosen so that each op is exact in each dtype, in whatever order the ranks are taken:
results are compared exactly. Yet float64 values do not fit into float32, int64 values not into
float64, and no float is a whole number, so that a buffer of the wrong type shows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.alterations import single_message_faults
from grader.judge.causality import Effect
from grader.judge.findings import WrongAnswer
from grader.judge.values import assert_every_rank
from grader.model import Outcome
from grader.suite.altering import inject_faults
from grader.suite.case import Array, Case, Data
from grader.suite.wording import case_context

from .probes import long_array

Values = NDArray[Any]

RANKS = [1, 2, 3, 4, 5, 8, 16]
SEVERAL_RANKS = RANKS[1:]

_GARBAGE = 777
_NETWORK_SIZED = (784, 128)
_TIMED_LENGTH = 3 << 18
"""6 MiB of float64: long enough for the copying, not the starting of messages, to take the time."""
FIRST_TIMES = 3
ALTERED_RANKS = 4
"""Messages are altered on so many ranks, which divide the length: no chunk needs to be padded."""
_ALTERED_SHAPE = (1000,)
MORE_TIMES = 5

_SERIAL: Mapping[str, Callable[[Values, Values], Values]] = {
    "np.add": np.add,
    "lambda x, y: x + y": np.add,
    "MPI.SUM": np.add,
    "np.maximum": np.maximum,
    "np.multiply": np.multiply,
    "np.bitwise_xor": np.bitwise_xor,
    "lambda x, y: x + y + x * y": lambda x, y: x + y + x * y,
}


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
    def moves_data(self) -> bool:
        """Return whether the rules on traffic can be judged by this case."""
        return self.num_elements > 0 and self.purpose == "values" and not self.synchronous_sends

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
        if self.purpose == "values":
            sends = [_values(random, self.op, self.dtype, self.shape) for _ in range(ranks)]
            return [{**call, "send": send, "fill": _GARBAGE} for send in sends]
        seeds = [int(random.integers(1 << 62)) for _ in range(ranks)]
        work = [{"seed": seed, "length": self.num_elements} for seed in seeds]
        return work if self.purpose == "yardstick" else [{**call, **each} for each in work]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array]:
        """Return the form of recv, and of send where it is looked at again."""
        form = Array(self.dtype, self.shape, finite=False)
        if self.purpose == "yardstick":
            return {}
        return {"recv": form, "send": form} if self.purpose == "values" else {"recv": form}

    def reduce_serially(self, inputs: Sequence[Mapping[str, Any]]) -> Values:
        """Return the reduction of all ranks' arrays, taken in rank order."""
        if self.purpose == "values":
            sends = [given["send"] for given in inputs]
        else:
            sends = [long_array(given["seed"], given["length"]) for given in inputs]
        return reduce(_SERIAL[self.op], sends)


def cases_by_ranks(file: str, function: str) -> dict[int, tuple[Reduction, ...]]:
    """Return all cases of one part for every number of ranks: one launch each."""
    return {ranks: _cases(ranks, file, function) for ranks in RANKS}


def timing_cases(file: str, function: str, attempt: int) -> tuple[Reduction, ...]:
    """Return yardsticks, then one small call that loads the student's file, then as many of theirs.

    The yardsticks come first because until then no code of the student has run in these processes.
    """
    loads_the_file = _once(file, function, (11,), "np.add")
    return (
        *_timed(file, function, "mpi_reduces_long", "yardstick", attempt),
        loads_the_file,
        *_timed(file, function, "reduce_long", "timing", attempt),
    )


def assert_reduced(case: Reduction, outcome: Outcome) -> None:
    """Assert that recv holds the reduction on every rank.

    Raises WrongAnswer: also says so when recv was not written to, or not overwritten.
    """
    expected = case.reduce_serially(outcome.inputs)
    with case_context(case, outcome):
        _assert_recv_overwritten(case, outcome["recv"], expected)
        assert_every_rank(outcome["recv"], equals=expected, name="recv")


def effects_of_altering(
    run: Callable[..., Any], cases: Mapping[int, Sequence[Reduction]]
) -> tuple[Outcome, list[Effect]]:
    """Run a sum again and again, each time with one message altered on its way.

    cases: by ranks, all that the part is called with. Returns the outcome without alterations, and
    what each of them led to.
    """
    plain = run(ALTERED_RANKS, cases[ALTERED_RANKS])
    ((case, outcome),) = plain.having(shape=_ALTERED_SHAPE, synchronous_sends=False)
    messages = single_message_faults(outcome)
    effects = inject_faults(
        run, ALTERED_RANKS, case, outcome, messages, assert_reduced, _wrong_ranks
    )
    return outcome, effects


def _wrong_ranks(case: Reduction, outcome: Outcome) -> list[int]:
    expected = case.reduce_serially(outcome.inputs)
    recvs = outcome["recv"]
    return [rank for rank, recv in enumerate(recvs) if not np.array_equal(recv, expected)]


def _assert_recv_overwritten(case: Reduction, recvs: Sequence[Values], expected: Values) -> None:
    garbage = np.full_like(expected, _GARBAGE)
    with_garbage = _SERIAL[case.op](expected, garbage)
    for rank, recv in enumerate(recvs):
        if recv.size and np.array_equal(recv, garbage) and not np.array_equal(expected, garbage):
            raise WrongAnswer(
                f"rank {rank}: recv still holds what it held before the call, {_GARBAGE} "
                "everywhere; the result has to be written into recv, as recv[...] = result does "
                "(recv = result only gives the name to another array)"
            )
        if np.array_equal(recv, with_garbage) and not np.array_equal(expected, with_garbage):
            raise WrongAnswer(
                f"rank {rank}: what recv held before the call, {_GARBAGE} everywhere, was reduced "
                "into the result; overwrite recv first"
            )


def _cases(ranks: int, file: str, function: str) -> tuple[Reduction, ...]:
    special = "lambda x, y: x + y + x * y"
    everywhere = [
        _once(file, function, (13,), "np.add"),
        _once(file, function, (0,), "np.add"),
        _once(file, function, (1,), "np.add", "int64"),
        _once(file, function, (7,), "np.maximum"),
        _once(file, function, (5, 7), special, "int64"),
        _once(file, function, (97,), special),
    ]
    more = [
        _once(file, function, (2,), "lambda x, y: x + y", "float32"),
        _once(file, function, (3,), "np.multiply", "int64"),
        _once(file, function, (13,), "MPI.SUM", "float32"),
        _once(file, function, (64,), "np.bitwise_xor", "int64"),
        _once(file, function, (97,), "np.maximum", "int64"),
        _once(file, function, (5, 7), "lambda x, y: x + y"),
        _once(file, function, (2, 3, 5), "np.multiply", "float32"),
        _once(file, function, (0, 3), "np.add"),
        _once(file, function, (1000,), "MPI.SUM", "int64"),
    ]
    network_sized = [_once(file, function, _NETWORK_SIZED, "np.add")]
    unbuffered = [
        _once(file, function, (13,), "np.add", unbuffered=True),
        _once(file, function, (5, 7), special, unbuffered=True),
    ]
    if ranks == 16:
        return (*everywhere, *unbuffered[:1])
    buffered = [*everywhere, *more, *(network_sized if ranks in (2, 3, 4) else [])]
    if ranks != 2:
        return (*buffered, *unbuffered)
    return (
        *_timed(file, function, "mpi_reduces_long", "yardstick", 0),
        *buffered,
        *_timed(file, function, "reduce_long", "timing", 0),
        *unbuffered,
    )


def _once(
    file: str,
    function: str,
    shape: tuple[int, ...],
    op: str,
    dtype: str = "float64",
    unbuffered: bool = False,
) -> Reduction:
    return Reduction(
        "reduce_once", unbuffered, file=file, function=function, shape=shape, op=op, dtype=dtype
    )


def _timed(file: str, function: str, probe: str, purpose: str, attempt: int) -> list[Reduction]:
    times = FIRST_TIMES if attempt == 0 else MORE_TIMES
    return [
        Reduction(
            probe,
            file=file,
            function=function,
            shape=(_TIMED_LENGTH,),
            op="np.add",
            purpose=purpose,
            number=10 * attempt + i,
        )
        for i in range(times)
    ]


def _values(random: np.random.Generator, op: str, dtype: str, shape: tuple[int, ...]) -> Values:
    whole = np.dtype(dtype).kind == "i"
    if op == "np.bitwise_xor":
        return random.integers(-(2**62), 2**62, shape, dtype=np.int64)
    if op == "np.multiply":
        return random.choice([-1, 1, 2] if whole else [-1, 0.5, 1, 2], shape).astype(dtype)
    if op == "lambda x, y: x + y + x * y":  # that is (1 + x)(1 + y) - 1
        return random.choice([-2, 0, 1] if whole else [-0.5, 0, 1], shape).astype(dtype)
    if whole:
        return random.integers(-(2**58), 2**58, shape, dtype=np.int64)
    if dtype == "float32":
        return (random.integers(-(2**12), 2**12, shape) / 8).astype(np.float32)
    return np.asarray(random.integers(-(2**40), 2**40, shape) / 2**30, dtype=np.float64)


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
