"""Compares what ranks returned with the oracle, and says where and how it differs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from grader.judge.check_failures import WrongAnswer
from grader.model.evidence import Differences, DifferingElement
from grader.model.finding import found
from grader.trace.call_formatting import ranks_text

Values = NDArray[Any]

_EXACT_KINDS = "biu"
_MOST_ELEMENTS, _MOST_ARRAYS = 8, 4
"""What is told of the differences."""


def assert_every_rank(
    arrays: Sequence[Values],
    equals: Values | Sequence[Values],
    *,
    name: str = "recv",
    rtol: float = 0.0,
    atol: float | Values = 0.0,
    label: str = "",
) -> None:
    """Assert that every rank's array is the expected one, element by element.

    arrays: one a rank, of any equal or different shapes.
    equals: one array for all ranks, or a list or tuple with one for each rank.
    rtol, atol: an element x passes for e when |x - e| <= atol + rtol |e|; whole numbers and bools
        are always compared exactly, NaN never passes, an infinity only for the same infinity.
        atol may be an array that broadcasts to the expected ones.
    label: words that name the case, put before the message.
    Raises WrongAnswer with rank, index, both values, how much differs and which ranks agree with
    each other; ValueError when the suite asks for something that cannot be.
    """
    per_rank = isinstance(equals, (list, tuple))
    expected = [np.asarray(each) for each in (equals if per_rank else [equals] * len(arrays))]
    if not arrays or len(expected) != len(arrays):
        raise ValueError(
            f"expected arrays: {len(expected)}, ranks: {len(arrays)}; give one array for each rank"
        )
    tolerance = np.asarray(atol, dtype=np.float64)
    if not (np.isfinite(tolerance).all() and (tolerance >= 0).all() and 0 <= rtol < np.inf):
        raise ValueError(f"a tolerance must be finite and not negative: {rtol=}, {atol=}")
    problems = {
        rank: problem
        for rank, (got, wanted) in enumerate(zip(arrays, expected, strict=True))
        if (problem := _problem(np.asarray(got), wanted, rtol, tolerance, name))
    }
    if problems:
        first = min(problems)
        others = agreement_text(arrays, expected, sorted(problems))
        prefix = f"{label}: " if label else ""
        differences = tuple(
            differences_of(rank, got, wanted, ~_close(got, wanted, rtol, tolerance), name=name)
            for rank in sorted(problems)[:_MOST_ARRAYS]
            for got, wanted in [(np.asarray(arrays[rank]), expected[rank])]
            if got.shape == wanted.shape
        )
        raise WrongAnswer.at(
            found(
                "value.differs",
                f"{prefix}rank {first}: {problems[first]}{others}",
                name=name,
                ranks=list(problems),
            ),
            differences,
        )


def assert_unchanged(
    arrays: Sequence[Values], originals: Sequence[Values], name: str = "send", *, label: str = ""
) -> None:
    """Assert that each rank's array still has its input values, by element (NaN stays NaN).

    Raises WrongAnswer with rank, index and both values; ValueError when the suite gives unequal
    numbers of arrays.
    """
    if len(arrays) != len(originals):
        raise ValueError(
            f"originals: {len(originals)}, ranks: {len(arrays)}; give one array for each rank"
        )
    prefix = f"{label}: " if label else ""
    for rank, (got, original) in enumerate(zip(arrays, originals, strict=True)):
        now, before = np.asarray(got), np.asarray(original)
        if now.shape != before.shape:
            raise WrongAnswer.of(
                "value.shape_changed",
                f"{prefix}rank {rank}: {name} has shape {now.shape} after the call, but had "
                f"{before.shape} before",
                rank=rank,
                name=name,
            )
        changed = (now != before) & ~((now != now) & (before != before))
        if changed.any():
            index = first_index(changed)
            is_now, was = shortest_different(now[index], before[index])
            raise WrongAnswer.of(
                "value.changed_by_call",
                f"{prefix}rank {rank}: {name}{index_text(index)} is {is_now} after the "
                f"call, but was {was} before{extent_text(changed, 'changed')}; the call "
                f"must not change {name}",
                rank=rank,
                name=name,
            )


def reduction_tolerance(num_terms: int, dtype: DTypeLike, magnitudes: Values) -> Values:
    """Return how far a sum may be from another sum of the same terms in another order.

    Each of the two is at most (n - 1) u sum|x| from the exact one to first order, u = eps / 2
    (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2): they differ by
    at most (n - 1) eps sum|x|. Zero for whole numbers.

    num_terms: n. dtype: what was added in. magnitudes: sum|x| for every element, any shape.
    """
    kind = np.dtype(dtype)
    epsilon = 0.0 if kind.kind in _EXACT_KINDS else float(np.finfo(kind).eps)
    scale = np.abs(np.asarray(magnitudes)).astype(np.float64)
    return np.asarray(max(num_terms - 1, 0) * epsilon * scale, dtype=np.float64)


def _problem(got: Values, wanted: Values, rtol: float, atol: Values, name: str) -> str:
    if got.shape != wanted.shape:
        return f"{name} has shape {got.shape}; expected {wanted.shape}"
    wrong = ~_close(got, wanted, rtol, atol)
    if not wrong.any():
        return ""
    index = first_index(wrong)
    is_now, should_be = shortest_different(got[index], wanted[index])
    return (
        f"{name}{index_text(index)} is {is_now}; expected {should_be}{extent_text(wrong, 'differ')}"
    )


def differences_of(
    rank: int,
    got: Values,
    expected: Values,
    wrong: NDArray[np.bool_],
    *,
    name: str = "",
    place: Callable[[int], str] | None = None,
) -> Differences:
    """Return the first elements of one rank's array that differ, for `WrongAnswer.at`.

    got, expected, wrong: of one shape; wrong says which elements differ.
    name: of the array, as the student knows it. place: words for an element by its index in the
    flat array; `[1, 3]` where it is not given.
    """
    elements = []
    for flat in np.flatnonzero(wrong)[:_MOST_ELEMENTS].tolist():
        index = tuple(int(i) for i in np.unravel_index(flat, wrong.shape))
        shown = index_text(index) if place is None else place(flat)
        elements.append(DifferingElement(shown, *shortest_different(got[index], expected[index])))
    return Differences(rank, name, int(np.count_nonzero(wrong)), wrong.size, tuple(elements))


def _close(got: Values, wanted: Values, rtol: float, atol: Values) -> NDArray[np.bool_]:
    """Return for each element whether it passes."""
    exact = [each.dtype.kind in _EXACT_KINDS for each in (got, wanted)]
    if all(exact):
        return np.asarray(got == wanted)
    if any(exact) and not rtol and not atol.any():
        # Comparing int64 with float64 rounds the former; Python compares the two exactly.
        return np.asarray(got.astype(object) == wanted.astype(object), dtype=bool)
    with np.errstate(all="ignore"):
        wide = np.result_type(got.dtype, wanted.dtype, np.float64)
        x, e = got.astype(wide), wanted.astype(wide)
        near = np.abs(x - e) <= atol + rtol * np.abs(e)
        # An infinite expectation would make any relative tolerance infinite as well.
        return np.asarray((near & np.isfinite(e)) | (x == e))


_MAX_GROUPS = 3


def agreement_text(
    arrays: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]], wrong: Sequence[int]
) -> str:
    """Return what is to be said of the ranks beside the first wrong one, or nothing."""
    if len(arrays) == 1:
        return ""
    if len(set(map(_content, expected))) > 1:
        right = sorted(set(range(len(arrays))) - set(wrong))
        return f"; {ranks_text(right)} {_are(right)} correct" if right else "; every rank is wrong"
    groups: dict[Any, list[int]] = {}
    for rank, array in enumerate(arrays):
        groups.setdefault(_content(np.asarray(array)), []).append(rank)
    if len(groups) == 1:
        both = "both ranks" if len(arrays) == 2 else f"all {len(arrays)} ranks"
        return f"; {both} agree with each other"
    right = sorted(set(range(len(arrays))) - set(wrong))
    agreeing = [group for group in groups.values() if len(group) > 1]
    agreeing.sort(key=lambda group: (-len(group), group[0]))
    said = []
    if not right:
        said.append("every rank is wrong")
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


def _content(array: NDArray[Any]) -> tuple[Any, ...]:
    return array.shape, array.dtype.str, array.tobytes()


_FEWEST_DIGITS = 6
_MOST_DIGITS = 17


def shortest_different(one: Any, other: Any) -> tuple[str, str]:
    """Return two numbers in at least 6 significant digits, and in as many as tell them apart."""
    if all(isinstance(each, (np.bool_, np.integer)) for each in (one, other)):
        return str(one), str(other)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        texts = tuple(_short(each, digits) for each in (one, other))
        if texts[0] != texts[1]:
            return texts[0], texts[1]
    return str(one), str(other)


def _short(value: Any, digits: int) -> str:
    return str(value) if isinstance(value, (np.bool_, np.integer)) else f"{value:.{digits}g}"


def first_index(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def index_text(index: tuple[int, ...]) -> str:
    """Return `[1, 3]`, or nothing for an array without dimensions."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def extent_text(mask: NDArray[np.bool_], verb: str) -> str:
    """Return how many elements are meant, and their range when they are in one piece."""
    number, size = int(np.count_nonzero(mask)), mask.size
    if size == 1:
        return ""
    places = np.flatnonzero(mask)
    in_one_piece = mask.ndim == 1 and 1 < number < size and places[-1] - places[0] == number - 1
    where = f": indices {places[0]} to {places[-1]}" if in_one_piece else ""
    if number == 1 and verb == "differ":
        verb = "differs"
    return f" ({number} of {size} elements {verb}{where})"
