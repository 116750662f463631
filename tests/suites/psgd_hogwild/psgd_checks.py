"""What must come of psgd: each rank's SGD, the parts of the data, and the mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from grader.api import (
    Call,
    Launch,
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_at_once,
    assert_every_rank,
    assert_not_truncated,
    call_name,
    call_place,
    call_site,
    calls_by_rank,
    case_context,
    found,
    functions,
    holds,
    ranks_text,
)

from . import softmax_regression
from .data_parts import assert_complete, assert_disjoint, parts_of
from .psgd_cases import BATCH_NS, REAL_SIZE, SEVERAL_RANKS, Psgd, scales_of
from .psgd_mistakes import is_same, known_mistake, learned_by_all, likely_ends, why_not_sgd
from .training_cases import (
    ATOL,
    GRADIENT_ATOL,
    Rows,
    assert_size,
    examples,
    given_start,
    parameter_name,
    trained,
    trained_batches,
    unpacked,
)

Run = Callable[..., Launch]
Cases = Mapping[int, Sequence[object]]


def assert_sgd(case: Psgd, outcome: Outcome) -> None:
    """Assert that each rank's gradients are those that plain SGD meets, step by step.

    Raises WrongAnswer with the first batch whose gradient is another one, and a known reason.
    """
    with case_context(case, outcome):
        batches = _batches_by_rank(case, outcome)
        for rank, own in enumerate(batches):
            _assert_learns(rank, own)
            weights, scales = given_start(outcome, 0), scales_of(outcome, rank)
            for number, rows in enumerate(own):
                given, scale = examples(outcome, rows), scales[number]
                expected = scale * softmax_regression.gradient(scale * weights, *given)
                gradient = outcome["gradients"][rank][number].astype(np.float64)
                if not np.allclose(gradient, expected, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL):
                    where = f"gradient of batch {number} on rank {rank}"
                    # By the measure of allclose, whose two tolerances are equal here.
                    most = int(np.argmax(np.abs(gradient - expected) / (1 + np.abs(expected))))
                    name = parameter_name(most, len(expected))
                    text = f"The {where} is {gradient[most]:.6g} for {name}; "
                    text += f"plain SGD computes {expected[most]:.6g}."
                    differs = found("psgd.gradient_differs", text, rank=rank, batch=number)
                    why = why_not_sgd(case, outcome, rank, number, batches)
                    raise WrongAnswer(*why, differs)
                weights = weights - case.lr * expected


def assert_parts_disjoint(case: Psgd, outcome: Outcome) -> None:
    """Assert that no example belongs to two ranks. Raises WrongAnswer with one that does."""
    with case_context(case, outcome):
        assert_disjoint(parts_of(_by_words(case, outcome)))


def assert_parts_complete(case: Psgd, outcome: Outcome) -> None:
    """Assert that each rank goes through its part once an epoch, and none is left out.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        assert_complete(case, _by_words(case, outcome))


def assert_come_together(case: Psgd, outcome: Outcome) -> None:
    """Assert that some rank ends with the sum or a mean of what all ranks have learned.

    Raises WrongAnswer with what a rank ends with instead, if that is known; and where the ranks
    have learned the same, so that nothing had to come together.
    """
    with case_context(case, outcome):
        own = learned_by_all(case, outcome)
        mean = np.mean(own, axis=0)
        for rank, batches in enumerate(_batches_by_rank(case, outcome)):
            _assert_learns(rank, batches)
            if is_same(own[rank], mean):
                text = f"Rank {rank}'s own weights equal the mean over all ranks: "
                text += "all ranks learned the same thing, or nothing."
                helps = "each rank must learn from its own part of the data"
                raise WrongAnswer.of("psgd.ranks_learn_the_same", text, help=helps, rank=rank)
        if not ranks_with_all(case, outcome):
            text = "No rank ended with the mean or the sum of all ranks' weights."
            raise WrongAnswer(*known_mistake(case, outcome), found("psgd.never_together", text))


def ranks_with_all(case: Psgd, outcome: Outcome) -> list[int]:
    """Return the ranks that end with the sum or a mean of what all ranks have learned."""
    together = [weights for weights, _, of_all in likely_ends(case, outcome, 0) if of_all]
    held = [trained(outcome, rank) for rank in range(outcome.ranks)]
    return [rank for rank, each in enumerate(held) if any(is_same(each, one) for one in together)]


def assert_mean(case: Psgd, outcome: Outcome) -> None:
    """Assert that every rank ends with the plain mean of what all ranks have learned.

    Raises WrongAnswer: names the array, and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        expected = np.mean(learned_by_all(case, outcome), axis=0)
        try:
            for name, array in unpacked(expected).items():
                arrays = [unpacked(trained(outcome, rank))[name] for rank in range(outcome.ranks)]
                assert_every_rank(arrays, equals=array, name=name, rtol=ATOL, atol=ATOL)
        except WrongAnswer as error:
            reason = known_mistake(case, outcome)
            raise WrongAnswer.at([*reason, *error.findings], error.differences) from None


def assert_plain_sgd_bit_for_bit(case: Psgd, outcome: Outcome) -> None:
    """Assert that one rank's weights are, to the last bit, its gradients' steps from the start.

    Raises WrongAnswer with the first weight that differs.
    """
    with case_context(case, outcome):
        (gradients,) = outcome["gradients"]
        expected: Any = given_start(outcome, 0).astype(np.float32)
        for gradient in gradients:
            expected = expected - np.float32(case.lr) * gradient
        arrays = unpacked(trained(outcome, 0))
        try:
            for name, array in unpacked(expected).items():
                assert_every_rank([arrays[name].astype(np.float32)], equals=array, name=name)
        except WrongAnswer as error:
            text = "On one rank, the weights must equal plain SGD's bit for bit; "
            text += "they differ by rounding."
            helps = "what happens to the weights of a single rank after its last step?"
            rounded = [found("psgd.weights_rounded", text, help=helps)]
            reason = rounded if is_same(trained(outcome, 0), expected) else []
            raise WrongAnswer.at([*reason, *error.findings], error.differences) from None


_MOVING_DATA = functions.ALL - functions.NEUTRAL - functions.COMPLETION


def assert_silent_meanwhile(case: Psgd, outcome: Outcome) -> None:
    """Assert that no rank calls anything that moves data between its first and its last step.

    Raises RuleViolation with the call and the batches around it; NotProven.
    """
    with case_context(case, outcome):
        assert_not_truncated(outcome.trace)
        for rank, call in calls_by_rank(outcome.trace, functions=_MOVING_DATA):
            ended = outcome["ended_ns"][rank]
            num_done = int((ended < call.entered_ns).sum())
            if 0 < num_done < len(ended):
                name, place = call_name(call), call_place(call)
                text = f"Rank {rank} called {name}{call_site(call)} after {num_done} of its "
                text += f"{len(ended)} batches."
                helps = "a rank must exchange nothing between its first and its last step"
                facts: dict[str, Any] = {"rank": rank, "call": name, "place": place}
                raise RuleViolation.of("psgd.exchange_between_steps", text, help=helps, **facts)
        _assert_times_agree(case, outcome)


def assert_train_at_once(case: Psgd, outcome: Outcome) -> None:
    """Assert that no two ranks take turns in training, as `take_turns` tells by their calls.

    Not judged where calls are lost. Raises RuleViolation.
    """
    if any(seen.truncated for seen in outcome.trace.ranks):
        return
    ended = [np.sort(outcome["ended_ns"][rank]) for rank in range(outcome.ranks)]
    batches = [np.stack([each - BATCH_NS, each], axis=1) for each in ended]
    with case_context(case, outcome):
        for two in combinations(range(outcome.ranks), 2):
            spans = [each if rank in two else each[:0] for rank, each in enumerate(batches)]
            assert_at_once(spans, outcome.trace)


def _assert_times_agree(case: Psgd, outcome: Outcome) -> None:
    """Assert that the times of the batches, which a rank tells, agree with those of its calls.

    Each batch takes at least the time that the probe makes it take. A rank calls MPI after its last
    batch, to give what it has learned, and one that got the weights of rank 0 also before its first
    one. Between the two calls there is time for all batches. Raises NotProven.
    """
    gets_weights = case.starts_differ and holds(assert_sgd, case, outcome)
    for rank, ended in enumerate(outcome["ended_ns"]):
        if not len(ended):
            continue
        calls = outcome.trace.ranks[rank].calls
        before = min((call.left_ns for call in calls), default=0)
        after = max((call.left_ns for call in calls), default=0)
        is_early = gets_weights and rank > 0 and ended.min() <= before
        is_told_at_once = (np.diff(np.sort(ended)) < BATCH_NS).any()
        moving = [call for call in calls if call.function in _MOVING_DATA]
        pauses_ns = [each.entered_ns - one.left_ns for one, each in pairwise(moving)]
        is_too_short = max(pauses_ns, default=0) < (len(ended) - 1) * BATCH_NS
        is_too_short &= ended.max() > min((call.left_ns for call in moving), default=0)
        if is_early or ended.max() >= after or is_told_at_once or is_too_short:
            text = f"The recorded times of rank {rank}'s batches contradict each other or the "
            text += "times of its MPI calls. Your instructor reviews this part."
            raise NotProven.of("psgd.times_disagree", text, rank=rank)


def assert_whole(case: Psgd, outcome: Outcome) -> None:
    """Assert parts, SGD and mean: all but what is asked of messages. Raises what these raise."""
    for check in (assert_parts_disjoint, assert_parts_complete, assert_sgd, assert_mean):
        check(case, outcome)


_SMALL = ("values", "unequal parts", "start", "buffering")


def is_right_with_small_models(run: Run, cases: Cases) -> bool:
    """Return whether small models are trained correctly on all of SEVERAL_RANKS."""
    launches = [run(number, cases[number]) for number in SEVERAL_RANKS]
    small = [launch.having(subject=each) for launch in launches for each in _SMALL]
    return all(each.holding(assert_whole) for each in small)


def in_real_size(run: Run, cases: Cases, ranks: int) -> Launch | tuple[()]:
    """Return the training of a model as large as Net.

    None unless small models are trained correctly: MPI itself goes about large arrays in another
    way, and what is wrong with small ones costs where these are looked at.
    """
    is_right = is_right_with_small_models(run, cases)
    return run(ranks, cases[ranks]).having(subject=REAL_SIZE) if is_right else ()


def finished_in_real_size(run: Run, cases: Cases, ranks: int) -> list[tuple[Psgd, Outcome]]:
    """Return the same if it came to its end, with an outcome of the right size."""
    large = in_real_size(run, cases, ranks)
    return large.holding(assert_size) if large else []


def gives_less_than_a_model(outcome: Outcome) -> bool:
    """Return whether a rank sends, or passes to collectives, fewer bytes than the model has."""
    least = given_start(outcome, 0).size * np.dtype(np.float32).itemsize
    return any(
        sum(call.num_bytes for call in seen.calls if _gives(call, rank)) < least
        for rank, seen in enumerate(outcome.trace.ranks)
    )


def _gives(call: Call, rank: int) -> bool:
    only_takes = call.is_receive and not call.is_send
    only_takes |= call.function in ("Bcast", "Ibcast") and call.peer != rank
    return call.num_bytes > 0 and not only_takes


def assert_in_each_communicator(is_right_otherwise: bool, case: Psgd, outcome: Outcome) -> None:
    """Assert the same of the ranks of each communicator that psgd was called with.

    is_right_otherwise: with a communicator of all ranks it holds. Raises WrongAnswer.
    """
    for group in case.groups:
        part = replace(
            outcome,
            ranks=len(group),
            inputs=tuple(outcome.inputs[rank] for rank in group),
            results=tuple(outcome.results[rank] for rank in group),
        )
        try:
            assert_whole(case, part)
        except WrongAnswer as error:
            if not is_right_otherwise:
                raise
            text = f"The result is wrong when comm contains only {ranks_text(group)}."
            helps = "take rank and size from comm: where is MPI.COMM_WORLD used?"
            whose = found("psgd.other_communicator", text, help=helps, ranks=group)
            told = WrongAnswer.at([whose, *error.findings], error.differences)
            raise told.about(error.case) from None


def _by_words(case: Psgd, outcome: Outcome) -> dict[str, list[Rows]]:
    return {f"rank {r}": own for r, own in enumerate(_batches_by_rank(case, outcome))}


def _batches_by_rank(case: Psgd, outcome: Outcome) -> list[list[Rows]]:
    batches = [trained_batches(case, outcome, rank) for rank in range(outcome.ranks)]
    if not any(batches):
        text = "No rank computed a gradient of the given model."
        helps = "psgd must train `model`: call model(inputs), compute a loss, and call backward()"
        raise WrongAnswer.of("psgd.model_not_trained", text, help=helps)
    return batches


def _assert_learns(rank: int, batches: Sequence[Rows]) -> None:
    if not batches:
        text, helps = f"Rank {rank} computed no gradient.", "every rank must run SGD"
        raise WrongAnswer.of("psgd.rank_without_gradient", text, help=helps, rank=rank)
