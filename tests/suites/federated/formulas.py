"""The closed forms of what is transmitted and how long a reduction takes, and their neighbours.

Elements are numbers that leave a process, over all processes, counted once for each message. The
times are for unit messages (Chan et al. 2007, section 4; Patarasuk and Yuan 2009).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from grader.api import Finding, WrongAnswer, found

VOLUMES: Mapping[str, Callable[[int, int, int], float]] = {
    "naive_all_reduce": lambda p, n, s: n * (n - 1) * p * s,
    "ring_all_reduce": lambda p, n, s: 2 * (n - 1) * p * s,
    "tree_all_reduce": lambda p, n, s: 2 * (n - 1) * p * s,
    "parameter_server": lambda p, n, s: 2 * (n - 1) * p * s,
    "fed_avg": lambda p, n, r: 2 * (n - 1) * p * r,
}
"""Elements by number of parameters, processes (a server included) and steps or rounds."""


def levels(num_processes: int) -> int:
    """Return ceil(log2 N), exactly."""
    return (num_processes - 1).bit_length()


TIMES: Mapping[str, Callable[[int], float]] = {
    "tree_reduce_time": levels,
    "ring_reduce_time": lambda n: n - 1,
    "tree_all_reduce_time": lambda n: 2 * levels(n),
    "ring_all_reduce_time": lambda n: 2 * (n - 1),
}

WITH_A_SERVER = ("parameter_server", "fed_avg")
_N_IS = "N counts the server, unless N_COUNTS_THE_SERVER is False"


@dataclass(frozen=True)
class _Slip:
    """A formula that is wrong in a known way."""

    key: str
    told: str
    """What the function does; comes after its name."""
    formula: Callable[..., float]
    only: tuple[str, ...] = ()
    """The functions that it is a slip of; of all where none is named."""
    help: str = ""


_SLIPS = (
    _Slip(
        "volume.of_one_sender",
        "counts the traffic of one process, not of all processes",
        lambda p, n, s: (n - 1) * p * s,
        only=("naive_all_reduce",),
    ),
    _Slip(
        "volume.one_way",
        "counts half of the traffic",
        lambda p, n, s: (n - 1) * p * s,
        help="how does the result get to every process?",
    ),
    _Slip(
        "volume.of_one_process",
        "counts one process's share; the total over all processes is required",
        lambda p, n, s: 2 * (n - 1) / n * p * s,
    ),
    _Slip(
        "volume.twice_naive",
        "counts twice the traffic of naive all-reduces",
        lambda p, n, s: 2 * n * (n - 1) * p * s,
    ),
    _Slip(
        "volume.naive",
        "counts the traffic of naive all-reduces",
        lambda p, n, s: n * (n - 1) * p * s,
    ),
    _Slip(
        "volume.to_oneself",
        "also counts messages that a process sends to itself",
        lambda p, n, s: n * n * p * s,
    ),
    _Slip(
        "volume.recursive_doubling",
        "counts the traffic of recursive doubling, N log2 N arrays",
        lambda p, n, s: n * log2(n) * p * s,
    ),
    _Slip(
        "volume.server_not_counted",
        "takes N as the number of workers or clients, so it counts 2N arrays",
        lambda p, n, s: 2 * n * p * s,
        only=WITH_A_SERVER,
    ),
    _Slip(
        "volume.two_arrays_too_many",
        "counts 2N arrays, two too many",
        lambda p, n, s: 2 * n * p * s,
    ),
    _Slip(
        "volume.single_step",
        "counts only a single step or round",
        lambda p, n, s: 2 * (n - 1) * p,
    ),
    _Slip(
        "volume.single_naive_step",
        "counts only a single naive all-reduce",
        lambda p, n, s: n * (n - 1) * p,
    ),
    _Slip(
        "volume.messages_counted",
        "counts messages, not the P elements of each",
        lambda p, n, s: 2 * (n - 1) * s,
    ),
)
_MORE_LEVELS = "how many levels does a tree of 5 processes have?"
_TIME_SLIPS = (
    _Slip(
        "time.rounded_down",
        "rounds log2 N down",
        lambda n: int(log2(n)),
        help=_MORE_LEVELS,
    ),
    _Slip(
        "time.rounded_down_twice",
        "rounds log2 N down in 2 log2 N",
        lambda n: 2 * int(log2(n)),
        help=_MORE_LEVELS,
    ),
    _Slip("time.of_tree_reduce", "returns the time of a tree reduction", levels),
    _Slip(
        "time.of_tree_all_reduce", "returns the time of a tree all-reduce", lambda n: 2 * levels(n)
    ),
    _Slip("time.of_ring_reduce", "returns the time of a ring reduction", lambda n: n - 1),
    _Slip(
        "time.of_ring_all_reduce", "returns the time of a ring all-reduce", lambda n: 2 * (n - 1)
    ),
    _Slip("time.one_step_too_many", "counts N steps, but the last changes nothing", lambda n: n),
    _Slip("time.two_steps_too_many", "counts 2N steps, two too many", lambda n: 2 * n),
    _Slip(
        "time.elements_counted",
        "counts the elements that a process sends, 2(N - 1)/N; here, every message takes one unit "
        "of time",
        lambda n: 2 * (n - 1) / n,
    ),
)


def assert_volume(
    name: str, arguments: list[list[int]], values: np.ndarray, *, counts_server: bool
) -> None:
    """Assert that a volume function is correct at all of its arguments (P, N, S).

    counts_server: whether N includes the server; otherwise it is the number of workers.
    Raises WrongAnswer at the first that is wrong.
    """
    more = int(name in WITH_A_SERVER and not counts_server)
    _assert_formula(name, arguments, values, lambda p, n, s: VOLUMES[name](p, n + more, s), _SLIPS)


def assert_time(name: str, arguments: list[list[int]], values: np.ndarray) -> None:
    """Assert that a time function is correct at all of its arguments N; log2 N may be uncut.

    Raises WrongAnswer at the first that is wrong.
    """
    twice = 2 if "all" in name else 1
    if "tree" in name and np.allclose(values, [twice * log2(n) for (n,) in arguments], rtol=1e-12):
        return
    _assert_formula(name, arguments, values, TIMES[name], _TIME_SLIPS)


def _assert_formula(
    name: str,
    arguments: list[list[int]],
    values: np.ndarray,
    formula: Callable[..., float],
    slips: Sequence[_Slip],
) -> None:
    expected = [formula(*each) for each in arguments]
    wrong = [
        i
        for i, (got, wanted) in enumerate(zip(values, expected, strict=True))
        if not abs(got - wanted) <= 1e-9 * abs(wanted)
    ]
    if not wrong:
        return
    first = wrong[0]
    called = f"{name}({', '.join(map(str, arguments[first]))})"
    differs = found(
        "formula.differs",
        f"{called} returned {values[first]:.12g}; expected {expected[first]:.12g}. "
        f"{len(wrong)} of {len(arguments)} calls returned a wrong value.",
        help=_N_IS if name in WITH_A_SERVER else "",
        name=name,
    )
    raise WrongAnswer(*_reasons(name, arguments, values, slips), differs)


def _reasons(
    name: str, arguments: list[list[int]], values: np.ndarray, slips: Sequence[_Slip]
) -> list[Finding]:
    """Return the slip that these values come from, if it is a known one."""
    return [
        found(slip.key, f"{name} {slip.told}.", help=slip.help, name=name)
        for slip in slips
        if (not slip.only or name in slip.only)
        and np.allclose(values, [slip.formula(*each) for each in arguments], rtol=1e-9)
    ][:1]
