"""What both synchronous parts are called with, and what must come of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grader.judge.alterations import every_message_fault
from grader.judge.causality import assert_messages_matter
from grader.judge.findings import WrongAnswer
from grader.judge.values import assert_every_rank
from grader.model import Outcome
from grader.suite.altering import inject_faults
from grader.suite.wording import case_context

from . import serial
from .fit_cases import (
    RTOL,
    Fit,
    assert_batch_size,
    examples,
    timed,
    trained_batches,
)

RANKS = [1, 2, 3, 4, 5, 8, 16]
SEVERAL_RANKS = RANKS[1:]
CLASS_NAME = "SynchronicNeuralNetwork"
ALTERED_RANKS = 4
_ATOL = 1e-11


def cases_by_ranks(file: str) -> dict[int, tuple[Fit, ...]]:
    """Return all cases of one part for every number of ranks: one launch each."""
    return {ranks: _cases(ranks, file) for ranks in RANKS}


def timing_cases(file: str, attempt: int) -> tuple[Fit, ...]:
    """Return yardsticks, then one fit that loads the student's file, then as many of theirs."""
    return (
        *timed(file, CLASS_NAME, 0, "yardstick", attempt),
        _fit(file, (6, 5, 4, 3), 2, 1),
        *timed(file, CLASS_NAME, 0, "timing", attempt),
    )


def genuine_cases(file: str) -> tuple[Fit]:
    """Return the one case in which MPI.Init and MPI.Finalize are the real ones."""
    return (_fit(file, (6, 5, 4, 3), 3, 2),)


def assert_trained_as_one_process(case: Fit, outcome: Outcome) -> None:
    """Assert that every rank ends as serial training on the union of all ranks' batches does.

    Raises WrongAnswer: names the array, and the mistake where it is a known one.
    """
    with case_context(case, outcome):
        batches = _batches_by_rank(case, outcome)
        start = outcome.inputs[0]["start"]
        steps = [
            _union(outcome, [own[number] for own in batches]) for number in range(len(batches[0]))
        ]
        expected = serial.train(start, case.sizes, case.learning_rate, steps)
        try:
            for name, array in serial.unpacked(expected, case.sizes).items():
                assert_every_rank(outcome[name], equals=array, name=name, rtol=RTOL, atol=_ATOL)
        except WrongAnswer as error:
            raise WrongAnswer(f"{error}{_known_mistake(case, outcome, batches)}") from None


def assert_batches(case: Fit, outcome: Outcome) -> None:
    """Assert that each rank trained on number_of_batches batches of mini_batch_size // size rows.

    Raises WrongAnswer with what a rank did instead.
    """
    share = case.mini_batch_size // outcome.ranks
    with case_context(case, outcome):
        for rank in range(outcome.ranks):
            num_batches = len(trained_batches(case, outcome, rank))
            if num_batches != case.num_steps:
                raise WrongAnswer(
                    f"rank {rank} trained on {num_batches} batches, expected "
                    f"number_of_batches x epochs = {case.num_steps}"
                )
            formula = f"mini_batch_size // size = {case.mini_batch_size} // {outcome.ranks}"
            assert_batch_size(case, outcome, rank, share, formula)


def assert_gradients_come_from_messages(
    run: Callable[..., Any], cases: Mapping[int, Sequence[Fit]]
) -> None:
    """Assert that training goes wrong once a rank's longer messages are altered on their way.

    Short ones may carry the dummies at index 0, which nobody needs. cases: by ranks, all that the
    part is called with. Raises NotProven.
    """
    plain = run(ALTERED_RANKS, cases[ALTERED_RANKS])
    case, outcome = next(iter(plain.having(moves_data=True)))
    messages = every_message_fault(outcome, range(outcome.ranks))
    effects = inject_faults(
        run, ALTERED_RANKS, case, outcome, messages, assert_trained_as_one_process
    )
    assert_messages_matter(outcome.trace, effects)


def _batches_by_rank(case: Fit, outcome: Outcome) -> list[list[np.ndarray]]:
    batches = [trained_batches(case, outcome, rank) for rank in range(outcome.ranks)]
    numbers = [len(own) for own in batches]
    if not any(numbers):
        raise WrongAnswer(
            "no rank called forward_prop and back_prop on a batch of training_data; fit trains "
            "with the two methods of network.py"
        )
    if len(set(numbers)) > 1:
        told = ", ".join(f"rank {rank}: {number}" for rank, number in enumerate(numbers))
        raise WrongAnswer(
            f"the ranks trained on different numbers of batches ({told}); every rank needs "
            "number_of_batches batches in every epoch, or a sum lacks a part"
        )
    return batches


def _union(
    outcome: Outcome, rows_by_rank: Sequence[np.ndarray]
) -> tuple[serial.Vector, serial.Vector]:
    return examples(outcome, 0, np.concatenate(rows_by_rank))


def _known_mistake(case: Fit, outcome: Outcome, batches: list[list[np.ndarray]]) -> str:
    """Return the mistake that would give exactly these weights; empty if none of the usual does."""
    if outcome.ranks == 1:
        return ""
    start = outcome.inputs[0]["start"]
    together = [_union(outcome, rows) for rows in zip(*batches, strict=True)]
    mean = serial.train(start, case.sizes, case.learning_rate / outcome.ranks, together)
    for rank in range(outcome.ranks):
        held = serial.packed({name: outcome[name][rank] for name in case.shapes}, case.sizes)
        own = [examples(outcome, 0, rows) for rows in batches[rank]]
        alone = serial.train(start, case.sizes, case.learning_rate, own)
        for likely, mistake in (
            (start, "it ends with the start weights: it took no step"),
            (mean, "it took steps by the mean of the gradients; they are to be summed"),
            (alone, "it took steps by its own gradients alone, not by the sum over all ranks"),
        ):
            if (np.abs(held - likely) <= RTOL).all():
                return f". Rank {rank}: {mistake}"
    return ""


def _cases(ranks: int, file: str) -> tuple[Fit, ...]:
    """Many ranks take few and small steps: a step of 16 ranks on 8 arrays is 11,520 MPI calls."""
    deep, wide, shallow = (6, 5, 4, 3), (64, 32, 10), (5, 3)
    first = [
        _fit(file, deep, 3 if ranks < 5 else 2, 2) if ranks < 16 else _fit(file, (5, 4, 3), 2, 2)
    ]
    unbuffered = [_fit(file, shallow, 1, 2, unbuffered=True)]
    if ranks == 16:
        return (*first, *unbuffered)
    more = [_fit(file, wide, 2, 2), _fit(file, shallow, 4, 1, mini_batch_size=20)]
    if ranks != 2:
        return (*first, *more, *unbuffered)
    return (
        *timed(file, CLASS_NAME, 0, "yardstick", 0),
        *first,
        *more,
        *timed(file, CLASS_NAME, 0, "timing", 0),
        *unbuffered,
    )


def _fit(
    file: str,
    sizes: tuple[int, ...],
    number_of_batches: int,
    epochs: int,
    mini_batch_size: int = 16,
    unbuffered: bool = False,
) -> Fit:
    return Fit(
        "fit",
        unbuffered,
        file=file,
        class_name=CLASS_NAME,
        sizes=sizes,
        number_of_batches=number_of_batches,
        epochs=epochs,
        mini_batch_size=mini_batch_size,
    )
