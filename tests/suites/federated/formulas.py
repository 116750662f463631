"""The closed forms of what is transmitted and how long a reduction takes, and their neighbours.

Elements are numbers that leave a process, over all processes, counted once for each message. The
times are for unit messages (Chan et al. 2007, section 4; Patarasuk and Yuan 2009).
"""

from collections.abc import Callable, Mapping
from math import log2

import numpy as np

from grader.api import WrongAnswer

VOLUMES: Mapping[str, Callable[[int, int, int], float]] = {
    "naive_all_reduce": lambda p, n, s: n * (n - 1) * p * s,
    "ring_all_reduce": lambda p, n, s: 2 * (n - 1) * p * s,
    "tree_all_reduce": lambda p, n, s: 2 * (n - 1) * p * s,
    "parameter_server": lambda p, n, s: 2 * (n - 1) * p * s,
    "fed_avg": lambda p, n, r: 2 * (n - 1) * p * r,
}
"""Elements by number of parameters, processes (a server included) and steps or rounds."""

TIMES: Mapping[str, Callable[[int], float]] = {
    "tree_reduce_time": lambda n: levels(n),
    "ring_reduce_time": lambda n: n - 1,
    "tree_all_reduce_time": lambda n: 2 * levels(n),
    "ring_all_reduce_time": lambda n: 2 * (n - 1),
}

WITH_A_SERVER = ("parameter_server", "fed_avg")

_SLIPS: Mapping[str, Callable[[int, int, int], float]] = {
    "half of it: what goes one way also comes back": lambda p, n, s: (n - 1) * p * s,
    "one process's share, not that of all together": lambda p, n, s: 2 * (n - 1) / n * p * s,
    "what one process sends when it sends its array to all others": lambda p, n, s: (n - 1) * p * s,
    "twice that of naive all-reduces": lambda p, n, s: 2 * n * (n - 1) * p * s,
    "naive all-reduces": lambda p, n, s: n * (n - 1) * p * s,
    "messages to oneself counted as well": lambda p, n, s: n * n * p * s,
    "2 N in place of 2 (N - 1)": lambda p, n, s: 2 * n * p * s,
    "2 (N - 1) P of a single step or round": lambda p, n, s: 2 * (n - 1) * p,
    "N (N - 1) P of a single step": lambda p, n, s: n * (n - 1) * p,
    "the number of messages, without P": lambda p, n, s: 2 * (n - 1) * s,
}
_TIME_SLIPS: Mapping[str, Callable[[int], float]] = {
    "floor(log2 N): with N between two powers of 2, one more level is needed": lambda n: int(
        log2(n)
    ),
    "twice floor(log2 N): with N between two powers of 2, one more level is needed": lambda n: (
        2 * int(log2(n))
    ),
    "the time of a tree reduction": lambda n: levels(n),
    "the time of a tree all-reduce": lambda n: 2 * levels(n),
    "the time of a ring reduction": lambda n: n - 1,
    "the time of a ring all-reduce": lambda n: 2 * (n - 1),
    "N steps, and the last one brings nothing new": lambda n: n,
    "2 N steps, two more than are needed": lambda n: 2 * n,
    "the elements a process sends, 2 (N - 1) / N: every message takes time 1 here": lambda n: (
        2 * (n - 1) / n
    ),
}


def levels(num_processes: int) -> int:
    """Return ceil(log2 N), exactly."""
    return (num_processes - 1).bit_length()


def assert_volume(
    name: str, arguments: list[list[int]], found: np.ndarray, *, counts_server: bool
) -> None:
    """Assert that a volume function is right at all of its arguments (P, N, S).

    counts_server: whether N includes the server; otherwise it is the number of workers.
    Raises WrongAnswer at the first that is wrong.
    """
    more = int(name in WITH_A_SERVER and not counts_server)
    _assert_formula(
        name,
        arguments,
        found,
        lambda p, n, s: VOLUMES[name](p, n + more, s),
        {k: v for k, v in _SLIPS.items() if "naive" not in name or not k.startswith("half")},
        "N counts the server" if name in WITH_A_SERVER and counts_server else "",
    )


def assert_time(name: str, arguments: list[list[int]], found: np.ndarray) -> None:
    """Assert that a time function is right at all of its arguments N; log2 N may be uncut.

    Raises WrongAnswer at the first that is wrong.
    """
    of_tree = "tree" in name
    twice = 2 if "all" in name else 1
    if of_tree and np.allclose(found, [twice * log2(n) for (n,) in arguments], rtol=1e-12):
        return
    _assert_formula(name, arguments, found, TIMES[name], _TIME_SLIPS, "")


def _assert_formula(
    name: str,
    arguments: list[list[int]],
    found: np.ndarray,
    formula: Callable[..., float],
    slips: Mapping[str, Callable[..., float]],
    note: str,
) -> None:
    expected = [formula(*each) for each in arguments]
    wrong = [
        i
        for i, (got, wanted) in enumerate(zip(found, expected, strict=True))
        if not abs(got - wanted) <= 1e-9 * abs(wanted)
    ]
    if not wrong:
        return
    first = wrong[0]
    called = f"{name}({', '.join(map(str, arguments[first]))})"
    same = [
        words
        for words, slip in slips.items()
        if np.allclose(found, [slip(*each) for each in arguments], rtol=1e-9)
    ]
    hint = f"; this is {same[0]}" if same else ""
    noted = f" ({note})" if note else ""
    raise WrongAnswer(
        f"{called} is {found[first]:.12g}, expected {expected[first]:.12g}{noted}; "
        f"{len(wrong)} of {len(arguments)} values differ{hint}"
    )
