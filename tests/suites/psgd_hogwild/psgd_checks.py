"""What must come of psgd: each rank's SGD, the parts of the data, and the mean."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.api import (
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_every_rank,
    assert_not_truncated,
    call_name,
    call_site,
    calls_by_rank,
    case_context,
    functions,
    holds,
    ranks_text,
)

from . import softmax_regression
from .psgd_cases import Psgd
from .psgd_mistakes import (
    GRADIENT_ATOL,
    is_same,
    known_mistake,
    learned_by_all,
    likely_ends,
    why_not_sgd,
)
from .training_cases import (
    ATOL,
    Rows,
    assert_complete,
    assert_disjoint,
    examples,
    given_start,
    parts_of,
    trained,
    trained_batches,
    unpacked,
)

Check = Callable[[Psgd, Outcome], None]


def assert_sgd(case: Psgd, outcome: Outcome) -> None:
    """Assert that each rank's gradients are those that plain SGD meets, step by step.

    Raises WrongAnswer with the first batch whose gradient is another one, and a known reason.
    """
    with case_context(case, outcome):
        batches = _batches_by_rank(case, outcome)
        for rank, own in enumerate(batches):
            if not own:
                raise WrongAnswer(f"rank {rank} computed no gradient; each rank runs SGD")
            weights = given_start(outcome, 0)
            for number, rows in enumerate(own):
                expected = softmax_regression.gradient(weights, *examples(outcome, rows))
                found = outcome["gradients"][rank][number].astype(np.float64)
                if not np.allclose(found, expected, rtol=GRADIENT_ATOL, atol=GRADIENT_ATOL):
                    raise WrongAnswer(
                        f"rank {rank}: the gradient of its batch {number} is not the one that "
                        f"plain SGD meets there ({found[0]:.6g} for weight[0, 0], expected "
                        f"{expected[0]:.6g}){why_not_sgd(case, outcome, rank, number, batches)}"
                    )
                weights = weights - case.lr * expected


def assert_parts_disjoint(case: Psgd, outcome: Outcome) -> None:
    """Assert that no example belongs to two ranks. Raises WrongAnswer with one that does."""
    with case_context(case, outcome):
        assert_disjoint(parts_of(_by_words(case, outcome)), "the ranks'")


def assert_parts_complete(case: Psgd, outcome: Outcome) -> None:
    """Assert that each rank goes through its part once an epoch, and none is left out.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        assert_complete(case, _by_words(case, outcome), "the ranks'")


def assert_come_together(case: Psgd, outcome: Outcome) -> None:
    """Assert that some rank ends with the sum or a mean of what all ranks have learned.

    Raises WrongAnswer with what a rank ends with instead, if that is known; and where the ranks
    have learned the same, so that nothing had to come together.
    """
    with case_context(case, outcome):
        own = learned_by_all(case, outcome)
        mean = np.mean(own, axis=0)
        for rank, batches in enumerate(_batches_by_rank(case, outcome)):
            if not batches:
                raise WrongAnswer(f"rank {rank} computed no gradient; each rank is to learn")
            if is_same(own[rank], mean):
                raise WrongAnswer(
                    f"rank {rank} has learned alone what the mean of all ranks is: they learned "
                    "the same, or nothing; each is to learn from a part of its own"
                )
        together = [weights for weights, _, of_all in likely_ends(case, outcome, 0) if of_all]
        held = [trained(outcome, rank) for rank in range(outcome.ranks)]
        if not any(is_same(each, weights) for each in held for weights in together):
            raise WrongAnswer(
                "no rank ends with the weights of all ranks: neither their mean nor their sum"
                f"{known_mistake(case, outcome)}"
            )


def assert_mean(case: Psgd, outcome: Outcome) -> None:
    """Assert that every rank ends with the plain mean of what all ranks have learned.

    Raises WrongAnswer: names the array, and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        expected = np.mean(learned_by_all(case, outcome), axis=0)
        try:
            for name, array in unpacked(expected).items():
                found = [unpacked(trained(outcome, rank))[name] for rank in range(outcome.ranks)]
                assert_every_rank(found, equals=array, name=name, rtol=ATOL, atol=ATOL)
        except WrongAnswer as error:
            raise WrongAnswer(f"{error}{known_mistake(case, outcome)}") from None


def assert_plain_sgd_bit_for_bit(case: Psgd, outcome: Outcome) -> None:
    """Assert that one rank's weights are, to the last bit, its gradients' steps from the start.

    Raises WrongAnswer with the first weight that differs.
    """
    with case_context(case, outcome):
        (gradients,) = outcome["gradients"]
        expected: Any = given_start(outcome, 0).astype(np.float32)
        for gradient in gradients:
            expected = expected - np.float32(case.lr) * gradient
        for name, array in unpacked(expected).items():
            found = unpacked(trained(outcome, 0))[name].astype(np.float32)
            assert_every_rank([found], equals=array, name=name)


def assert_silent_meanwhile(case: Psgd, outcome: Outcome) -> None:
    """Assert that no rank calls anything that moves data between its first and its last step.

    Raises RuleViolation with the call and the batches around it; NotProven.
    """
    with case_context(case, outcome):
        assert_not_truncated(outcome.trace)
        moving_data = functions.ALL - functions.NEUTRAL - functions.COMPLETION
        for rank, call in calls_by_rank(outcome.trace, functions=moving_data):
            ended = outcome["ended_ns"][rank]
            num_done = int((ended < call.entered_ns).sum())
            if 0 < num_done < len(ended):
                raise RuleViolation(
                    f"rank {rank} calls {call_name(call)}{call_site(call)} after {num_done} of its "
                    f"{len(ended)} batches; the ranks are to exchange nothing until all have "
                    "taken their last step"
                )


def assert_as_right_as(
    ordinary: Sequence[tuple[Psgd, Outcome]],
    checks: Sequence[Check],
    case: Psgd,
    outcome: Outcome,
) -> None:
    """Assert the checks that hold for all ordinary cases; the others cost their own tests.

    A case with several communicators is looked at one by one. Raises what the checks raise.
    """
    held = [check for check in checks if all(holds(check, *answer) for answer in ordinary)]
    for check in held:
        for whose, part in _by_communicator(case, outcome):
            try:
                check(case, part)
            except WrongAnswer as error:
                raise WrongAnswer(f"{error}{whose}") from None


def _by_words(case: Psgd, outcome: Outcome) -> dict[str, list[Rows]]:
    return {f"rank {r}": own for r, own in enumerate(_batches_by_rank(case, outcome))}


def _batches_by_rank(case: Psgd, outcome: Outcome) -> list[list[Rows]]:
    batches = []
    for rank in range(outcome.ranks):
        try:
            batches.append(trained_batches(case, outcome, rank))
        except WrongAnswer as error:
            raise WrongAnswer(f"rank {rank}: {error}") from None
    if not any(batches):
        raise WrongAnswer(
            "no rank computed a gradient of the model that it was given; psgd trains `model`, "
            "with model(inputs), a loss and backward()"
        )
    return batches


def _by_communicator(case: Psgd, outcome: Outcome) -> Iterator[tuple[str, Outcome]]:
    """Yield words for each communicator that psgd was called with, and what came of its ranks."""
    if not case.groups:
        yield "", outcome
    for group in case.groups:
        told = f"; ranks and sizes are those of comm, here of {ranks_text(group)} of all"
        yield (
            f"{told}: use comm, not MPI.COMM_WORLD",
            replace(
                outcome,
                ranks=len(group),
                inputs=tuple(outcome.inputs[rank] for rank in group),
                results=tuple(outcome.results[rank] for rank in group),
            ),
        )
