"""What the calls show of asynchronous trainings of several workers, whether they came to an end.

Without a result only the sizes of messages and a few of their numbers tell what they hold: one
master owns all layers here.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from math import prod

from grader.api import (
    ANY_SOURCE,
    Attempt,
    Call,
    NotProven,
    Outcome,
    RunFailure,
    Verdict,
    WrongAnswer,
    may_hold,
    messages,
    not_run,
    samples_of,
)

from . import serial
from .async_cases import FEW_RANKS
from .async_checks import assert_gradients_reach_a_master, assert_replays
from .async_contents import assert_contents
from .async_rules import Cases, Run
from .failing_lines import is_raised
from .fit_cases import FLOAT64_NUM_BYTES, Fit
from .ownership import SMALL_NUM_BYTES, layer_num_bytes
from .replayed_messages import are_told, slices_of
from .serial import Vector
from .summing import PICKLE_NUM_BYTES

Shows = Callable[[Fit, Attempt], bool]

_MASTER = 0
_ASKS = re.compile("I?m?(recv|probe)", re.IGNORECASE)
_WRONG_KEYWORD = re.compile(rf"{_ASKS.pattern}\(\) got an unexpected keyword", re.IGNORECASE)
_MOST_FIRST = 8
"""Messages with arrays that a first batch may be sent in."""
_STOPPED = (
    Verdict.RUN_TIME_ERROR,
    Verdict.DEADLOCK,
    Verdict.TIME_LIMIT_EXCEEDED,
    Verdict.NOT_ATTEMPTED,
)


def shown(run: Run, cases: Cases, *what: Shows) -> None:
    """End the test as not run unless one training of several workers shows all this.

    It stopped, or ended with right results that its messages hold. In none that ended may all
    gradients be missing: the results tell more than the calls. What raises an error of its own
    shows nothing.
    """
    found: list[tuple[Fit, Attempt]] = []
    for ranks in FEW_RANKS:
        launch = run(ranks, cases[ranks]).having(purpose="values", num_masters=1)
        attempts = launch.attempts()
        ended = [attempt for _, attempt in attempts if attempt.failure is None]
        if len(ended) > len(launch.holding(assert_gradients_reach_a_master)):
            not_run("a run with one master ended, but no gradients reached the master")
        right = [case for case, _ in launch.holding(_assert_proven)]
        told = [each for each in attempts if each[1].failure or each[0] in right]
        found += told if ranks > 2 else []
    for case, attempt in found:
        failure = attempt.failure
        counts = not failure or (failure.verdict in _STOPPED and not is_raised(failure))
        if counts and all(shows(case, attempt) for shows in what):
            return
    not_run("no run made the calls that this check needs")


def _assert_proven(case: Fit, outcome: Outcome) -> None:
    assert_replays(case, outcome)
    try:
        assert_contents(case, outcome, is_right=True)
    except NotProven as error:
        raise WrongAnswer(*error.findings) from None


def asks_for_gradients(case: Fit, attempt: Attempt) -> bool:
    """Return whether the master receives or probes arrays of a worker, whichever sends first."""
    calls = attempt.trace.ranks[_MASTER].calls
    workers = set(range(1, attempt.ranks))
    sources = {call.peer for call in calls if _is_asking(case, call)}
    return ANY_SOURCE in sources or workers <= sources


def sends_gradients(case: Fit, attempt: Attempt) -> bool:
    """Return whether a worker sends the master arrays of whole layers, and nothing else."""
    least = min(layer_num_bytes(case.sizes).values())
    for worker in range(1, attempt.ranks):
        sent = _arrays(messages(attempt.trace, worker, _MASTER))
        is_enough = all(_is_of_layers(case, call) for call in sent) and _total(sent) >= least
        if sent and is_enough and _may_be_gradients(case, attempt, worker, sent):
            return True
    return False


def asks_for_or_sends_new_values(case: Fit, attempt: Attempt) -> bool:
    """Return whether a worker receives or probes arrays of the master, or the master sends any.

    A misspelt call that receives counts where the workers stop after a batch; an end with most
    batches of every worker unsent does not.
    """
    workers = range(1, attempt.ranks)
    if all(_ends_too_early(case, attempt, worker) for worker in workers):
        return False
    stopped = all(_stops_after_a_batch(case, attempt, worker) for worker in workers)
    if stopped and attempt.failure and _misspells_a_receive(attempt.failure):
        return True
    asked = any(
        _is_asking(case, call) and call.peer in (_MASTER, ANY_SOURCE)
        for worker in workers
        for call in attempt.trace.ranks[worker].calls
    )
    return asked or any(
        _is_of_layers(case, call) and may_tell(call)
        for worker in workers
        for call in messages(attempt.trace, _MASTER, worker)
    )


def exchanges_every_batch(case: Fit, attempt: Attempt) -> bool:
    """Return whether gradients and new values of as many batches as asked for were sent.

    Of half of them or more, messages have to hold what follows from the start and the batches.
    """
    workers = range(1, attempt.ranks)
    there = [call for worker in workers for call in messages(attempt.trace, worker, _MASTER)]
    back = [call for worker in workers for call in messages(attempt.trace, _MASTER, worker)]
    if not (_is_of_every_batch(case, attempt, there) and _is_of_every_batch(case, attempt, back)):
        return False
    needed = case.num_steps * sum(layer_num_bytes(case.sizes).values())
    return are_told(case, attempt, needed // 2)


def _is_of_every_batch(case: Fit, attempt: Attempt, sent: list[Call]) -> bool:
    """One message more a worker is taken for start weights."""
    layers = sum(layer_num_bytes(case.sizes).values())
    most = layers + sum(_dummies(case)) + SMALL_NUM_BYTES
    pickles = PICKLE_NUM_BYTES * sum(call.pickled for call in sent)
    num_batches, num_workers = case.num_steps, attempt.ranks - 1
    return num_batches * layers <= _total(sent) <= (num_batches + num_workers) * most + pickles


def may_tell(call: Call) -> bool:
    """Return whether a message holds something else than zeros, as far as it was looked at."""
    samples = samples_of(call, "f8")
    return bool(samples.any()) or not len(samples)


def _may_be_gradients(case: Fit, attempt: Attempt, worker: int, sent: list[Call]) -> bool:
    """Return whether a message may hold a multiple of the gradients of a batch at the start.

    Or the weights after a step of it.
    """
    start = attempt.inputs[worker]["start"]
    for gradient, is_slice in _gradients_at_start(case, attempt, worker):
        step = start - case.learning_rate * gradient
        looked_at = sent[:_MOST_FIRST] if is_slice else sent
        if any(may_hold(call, gradient, scaled=True) or may_hold(call, step) for call in looked_at):
            return True
    return False


def _arrays(calls: Iterable[Call]) -> list[Call]:
    return [call for call in calls if call.num_bytes > SMALL_NUM_BYTES]


def _gradients_at_start(case: Fit, attempt: Attempt, worker: int) -> Iterator[tuple[Vector, bool]]:
    """Yield the gradients, at the start, of batches of all data and of the usual slices of it.

    Each with whether it is of a slice.
    """
    given = attempt.inputs[worker]
    for number, batches in enumerate(slices_of(case, attempt, worker)):
        for batch in batches:
            examples = given["data"][batch], given["labels"][batch]
            yield serial.gradient(given["start"], case.sizes, *examples), number > 0


def _ends_too_early(case: Fit, attempt: Attempt, worker: int) -> bool:
    """Return whether a worker waits at its end, with less than half of its batches sent."""
    calls = attempt.trace.ranks[worker].calls
    layers = sum(layer_num_bytes(case.sizes).values())
    share = case.num_steps / (attempt.ranks - 1)
    sent = _total(messages(attempt.trace, worker, _MASTER))
    return bool(calls) and calls[-1].function == "Barrier" and sent < share * layers / 2


def _stops_after_a_batch(case: Fit, attempt: Attempt, worker: int) -> bool:
    """Return whether a worker sent less than two batches, and was in no call at the end."""
    calls = attempt.trace.ranks[worker].calls
    layers = sum(layer_num_bytes(case.sizes).values())
    few = _total(messages(attempt.trace, worker, _MASTER)) < 2 * layers
    return few and bool(calls) and calls[-1].left_ns > 0


def _misspells_a_receive(failure: RunFailure) -> bool:
    """Return whether a run ended at a call that receives or probes, or at one of its keywords."""
    facts = [each.facts for each in failure.findings]
    return any(
        _ASKS.fullmatch(str(each.get("meant", "")))
        or _WRONG_KEYWORD.match(str(each.get("message", "")))
        for each in facts
    )


def _is_asking(case: Fit, call: Call) -> bool:
    """Return whether a call receives arrays of layers, or asks for a message of any size."""
    if call.function in ("Probe", "Mprobe", "Iprobe", "Improbe"):
        return True
    has_room = _is_of_layers(case, call) or call.num_bytes >= max(_sizes(case))
    return call.is_receive and call.num_bytes > SMALL_NUM_BYTES and has_room


def _is_of_layers(case: Fit, call: Call) -> bool:
    """Return whether a message holds arrays of layers, and one number more at most."""
    more = PICKLE_NUM_BYTES if call.pickled else FLOAT64_NUM_BYTES
    return any(size <= call.num_bytes <= size + more for size in _sizes(case))


def _sizes(case: Fit) -> set[int]:
    """Return the bytes of single arrays, of a layer's two, and of those of all layers."""
    weights, biases = (
        [FLOAT64_NUM_BYTES * prod(shape) for name, shape in case.shapes.items() if kind in name]
        for kind in ("weights", "biases")
    )
    of_a_layer = layer_num_bytes(case.sizes).values()
    dummy_weights, dummy_biases = _dummies(case)
    all_weights = {sum(weights), sum(weights) + dummy_weights}
    all_biases = {sum(biases), sum(biases) + dummy_biases}
    together = {one + other for one in all_weights for other in all_biases}
    return {*weights, *biases, *of_a_layer, *all_weights, *all_biases, *together}


def _dummies(case: Fit) -> tuple[int, int]:
    """Return the bytes of the two arrays of the input layer, which nobody needs to send."""
    return FLOAT64_NUM_BYTES, FLOAT64_NUM_BYTES * case.sizes[0]


def _total(calls: Iterable[Call]) -> int:
    return sum(call.num_bytes for call in calls)
