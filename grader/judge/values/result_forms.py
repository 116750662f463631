"""Whether the results that a rank sent have the form that its case announced."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.judge.values.array_comparison import first_index, index_text
from grader.model.report import Array, Text


def refuse(
    rank: int,
    expected: Mapping[str, Array | Text],
    values: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, Any], str]:
    """Return the results of one rank as announced, and why they are refused (empty if not)."""
    texts = values.get("texts")
    texts = texts if isinstance(texts, dict) else {}
    results: dict[str, Any] = {}
    for name, form in expected.items():
        if isinstance(form, Text):
            text = texts.get(name)
            if not isinstance(text, str) or len(text) > form.max_num_chars:
                return {}, (
                    f"rank {rank}: {name} is not a string of at most {form.max_num_chars} "
                    "characters"
                )
            results[name] = text
            continue
        array = arrays.get(name)
        if array is None:
            found = texts.get(name)
            is_text = isinstance(found, str)
            return {}, f"rank {rank}: {name} is {found if is_text else 'missing'}; " + (
                f"expected an array of {form.dtype}"
            )
        problem = _array_problem(array, form)
        if problem:
            return {}, f"rank {rank}: {name} {problem}"
        results[name] = array
    return results, ""


def _array_problem(array: NDArray[Any], form: Array) -> str:
    fits = len(array.shape) == len(form.shape) and all(
        wanted is None or wanted == got for wanted, got in zip(form.shape, array.shape, strict=True)
    )
    if not fits:
        wanted = str(form.shape).replace("None", "any")
        return f"has shape {array.shape}; expected {wanted}"
    if array.dtype != np.dtype(form.dtype):
        return f"is an array of {array.dtype}; expected {form.dtype}"
    if array.nbytes > form.max_num_bytes:
        return f"takes up {array.nbytes} bytes; at most {form.max_num_bytes} are accepted"
    if form.finite and array.dtype.kind in "fc" and not np.isfinite(array).all():
        index = first_index(~np.isfinite(array))
        place = index_text(index)
        return f"contains a value that is not a finite number: {place or 'it'} is {array[index]}"
    return ""
