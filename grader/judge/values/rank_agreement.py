"""Says which ranks returned the same array, and which the right one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.trace.call_formatting import ranks_text

_MAX_GROUPS = 3


def agreement_text(
    arrays: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]], wrong: Sequence[int]
) -> str:
    """Return what is to be said of the ranks beside the first wrong one, or nothing.

    arrays, expected: one a rank. wrong: the ranks whose array is not the expected one, in order.
    """
    if len(arrays) == 1:
        return ""
    if len(set(map(_content, expected))) > 1:
        right = sorted(set(range(len(arrays))) - set(wrong))
        return f"; {ranks_text(right)} {_are(right)} right" if right else "; no rank is correct"
    groups: dict[Any, list[int]] = {}
    for rank, array in enumerate(arrays):
        groups.setdefault(_content(np.asarray(array)), []).append(rank)
    if len(groups) == 1:
        both = "both ranks" if len(arrays) == 2 else f"all {len(arrays)} ranks"
        return f"; {both} agree with each other"
    right = sorted(set(range(len(arrays))) - set(wrong))
    agreeing = sorted((group for group in groups.values() if len(group) > 1), key=_largest_first)
    said = []
    if not right:
        said.append("no rank is correct")
    elif len(wrong) > 1:
        said.append(f"{ranks_text(wrong[1:])} {_are(wrong[1:])} also wrong")
    elif not agreeing:
        said.append(f"{ranks_text(right)} {_are(right)} correct")
    if agreeing:
        said += [f"{ranks_text(each)} agree with each other" for each in agreeing[:_MAX_GROUPS]]
    elif not right and len(arrays) > 2:
        said.append("no two ranks agree with each other")
    return "".join(f"; {clause}" for clause in said)


def _are(ranks: Sequence[int]) -> str:
    return "is" if len(ranks) == 1 else "are"


def _largest_first(group: Sequence[int]) -> tuple[int, int]:
    return -len(group), group[0]


def _content(array: NDArray[Any]) -> tuple[Any, ...]:
    return array.shape, array.dtype.str, array.tobytes()
