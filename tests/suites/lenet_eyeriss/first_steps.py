"""What calls and their contents show of code without a right result: whether it begins well."""

import builtins
import re
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from grader.api import Attempt, Call, Launch, Outcome, Verdict, functions

from .gradient_traffic import CARRIES_NOTHING, padded_chunks
from .over_ranks import Cases, Check
from .serial import NUM_PARAMETERS, SHAPES
from .shares import NEARLY_ALL
from .training_cases import SHEETS_RANKS, Alone, Training

CallsByRank = list[list[Call]]
"""Of each rank, those that carry something."""

_LAYERS = {name.partition(".")[0] for name in SHAPES}
_OF_LAYERS = [
    sum(prod(shape) for name, shape in SHAPES.items() if name.startswith(f"{layer}."))
    for layer in _LAYERS
]
_LENGTHS = {*map(prod, SHAPES.values()), *_OF_LAYERS, NUM_PARAMETERS}
"""Of a parameter, of weight and bias of a layer, and of all."""
_MANY_ELEMENTS = 16
"""An n-th of fewer may be a counter."""
_PASSED_ON = 0.3
"""Of what a rank gives; in a ring it is two thirds."""
_REFUSED = {"SystemError", "gaierror", "herror", "DistNetworkError", "DistStoreError"}
_REFUSED |= {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, OSError)
}
"""What files, sockets and stores raise that are refused; no mistake in an all-reduce does."""
_OUTPUT = "last output of rank "
_CODE = re.compile(r'^  File "[^"\n]*", line \d+.*\n    (.*)', re.MULTILINE)
_RAISES = re.compile(r"(?:^|[;:])\s*raise\b")


def assert_begins(
    run: Callable[[int, Sequence[Training | Alone]], Launch],
    cases: Cases,
    alone: Sequence[Alone],
    is_complete: Check,
    is_right: Callable[[CallsByRank], bool],
    is_sound: Callable[[Outcome, int], bool],
) -> None:
    """Assert that 4 ranks, or 3 of them, have begun right, whatever comes of it.

    They may end with a wrong result, hang, or fail by a mistake. is_complete: fails for a wrong
    result. is_right: of their calls. is_sound: of what a rank gives alone.
    """
    launch = run(SHEETS_RANKS, cases[SHEETS_RANKS])
    complete = {case for case, _ in launch.holding(is_complete)}
    begun = [
        [[call for call in rank.calls if _carries(call)] for rank in attempt.trace.ranks]
        for case, attempt in launch.attempts()
        if case not in complete and _may_have_begun(attempt)
    ]
    assert any(sum(map(bool, calls)) >= SHEETS_RANKS - 1 and is_right(calls) for calls in begun)
    outcomes = [each for _, each in run(SHEETS_RANKS, alone).answers() if isinstance(each, Outcome)]
    assert any(
        sum(is_sound(outcome, rank) for rank in range(SHEETS_RANKS)) >= SHEETS_RANKS - 1
        for outcome in outcomes
    )


def gives_gradients(outcome: Outcome, rank: int) -> bool:
    """Return whether a rank gives its own gradients to others."""
    own, given = outcome["own"][rank], outcome["given"][rank]
    with np.errstate(over="ignore"):
        forms = [own, own / np.float32(outcome.ranks), own.astype("f2").astype("f4")]
    num_own = np.sum(np.isin(given, np.concatenate(forms)) & (given != 0))
    return bool(num_own > 0 and num_own >= min(_MANY_ELEMENTS, len(given) / 2))


def passes_chunks_on(outcome: Outcome, rank: int) -> bool:
    """Return whether a rank begins with its gradients, and goes on with what it receives.

    If it does not go on, it must have failed before. If it passes on what it receives, and ends
    with that, it need not begin with its gradients.
    """
    given, averaged = outcome["given"][rank], outcome["averaged"][rank]
    arriving = outcome.inputs[rank]["arriving"]
    passes_on = len(given) and np.isin(np.rint(given), arriving).mean() >= _PASSED_ON
    if gives_gradients(outcome, rank):
        return bool(passes_on or (not len(averaged) and len(given) <= padded_chunks(outcome.ranks)))
    # What arrives after the division is divided already.
    forms = (averaged, averaged * outcome.ranks)
    arrived = np.any([np.isin(np.rint(form), arriving) for form in forms], axis=0)
    return bool(passes_on and len(averaged) and arrived.mean() >= NEARLY_ALL)


def begins_with_gradients(calls: CallsByRank) -> bool:
    """Return whether each rank begins with the gradients of a parameter or more, or a chunk."""
    firsts = [of_rank[0].num_elements for of_rank in calls if of_rank]
    return all(length in _LENGTHS or _is_chunk(length, len(calls)) for length in firsts)


def begins_with_chunks(calls: CallsByRank) -> bool:
    """Return whether there are messages alone, all equally far round, the first ones of chunks."""
    n = len(calls)
    is_message = all(
        call.function in functions.TORCH_POINT_TO_POINT for of_rank in calls for call in of_rank
    )
    steps = {
        (call.peer - rank if call.is_send else rank - call.peer) % n
        for rank, of_rank in enumerate(calls)
        for call in of_rank
    }
    firsts = [of_rank[0].num_elements for of_rank in calls if of_rank]
    return is_message and len(steps) == 1 and all(_is_chunk(length, n) for length in firsts)


def _is_chunk(length: int, n: int) -> bool:
    """Return whether it is an n-th of a tensor, cut anywhere or by rows, of a layer, or of all."""
    by_rows = [(shape[0], prod(shape[1:])) for shape in SHAPES.values()]
    of_any = any(
        rows // n * width <= length <= -(-rows // n) * width
        for rows, width in [*by_rows, *((layer, 1) for layer in _OF_LAYERS)]
        if rows * width >= _MANY_ELEMENTS
    )
    return of_any or NUM_PARAMETERS // n <= length <= padded_chunks(n)


def _carries(call: Call) -> bool:
    return call.function not in CARRIES_NOTHING and call.num_elements > 0


def _may_have_begun(attempt: Attempt) -> bool:
    """Return whether the ranks came to an end, hung, or failed by a mistake."""
    failure = attempt.failure
    if failure is None or failure.verdict is Verdict.DEADLOCK:
        return True
    code = _CODE.findall(failure.detail.partition(_OUTPUT)[0])
    if code and _RAISES.search(code[-1]):
        return False  # An error of its own making shows nothing.
    types = {finding.facts["type"] for finding in failure.findings if "type" in finding.facts}
    return bool(types - _REFUSED)
