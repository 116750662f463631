"""What the asynchronous part is called with, and what must come of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grader.judge.alterations import every_message_fault
from grader.judge.causality import assert_messages_matter
from grader.judge.findings import RuleViolation, WrongAnswer
from grader.judge.replay import Replay, Update, assert_final, replay
from grader.judge.values import assert_every_rank
from grader.model import Outcome
from grader.suite.altering import inject_faults
from grader.suite.wording import case_context

from . import ownership, serial
from .fit_cases import RTOL, Fit, assert_batch_size, examples, timed, trained_batches

RANKS = [2, 3, 4, 5, 8, 16]
FILE, CLASS_NAME = "async_network.py", "AsynchronicNeuralNetwork"

THREE_LAYERS = (12, 33, 25, 66)
FOUR_LAYERS = (12, 33, 27, 64, 56)
ALTERED_RANKS = 4
GROUPS = ONE_MASTER, TWO_MASTERS, ANY_SHAPE = "one master", "two masters", "any shape"

_EVEN, _UNEVEN = 12, 11
"""Batches an epoch: 12 divide evenly among 1, 2, 3, 4 and 6 workers; 11 among one alone."""
_MOST_BATCHES = 8
"""Times those asked for: more are not replayed, the judge has other things to do."""


def cases_by_ranks() -> dict[int, tuple[Fit, ...]]:
    """Return all cases for every number of ranks: one launch each."""
    return {ranks: _cases(ranks) for ranks in RANKS}


def timing_cases(attempt: int) -> tuple[Fit, ...]:
    """Return yardsticks, then one fit that loads the student's file, then as many of theirs."""
    return (
        *timed(FILE, CLASS_NAME, 1, "yardstick", attempt),
        _fit(1, _EVEN),
        *timed(FILE, CLASS_NAME, 1, "timing", attempt),
    )


def genuine_cases() -> tuple[Fit]:
    """Return the one case in which MPI.Init and MPI.Finalize are the real ones."""
    return (_fit(2, _UNEVEN),)


def assert_replays(case: Fit, outcome: Outcome) -> Replay:
    """Assert that every batch's gradients were applied once, and replied to at once.

    Raises WrongAnswer where they were not.
    """
    with case_context(case, outcome):
        parameters = _arrays_of(case, outcome, 0)
        return replay(
            serial.unpacked(outcome.inputs[0]["start"], case.sizes),
            _updates(case, outcome),
            case.learning_rate,
            rtol=RTOL,
            final=parameters,
        )


def assert_process_0_holds_the_result(case: Fit, outcome: Outcome) -> None:
    """Assert that process 0 ends with the last value of every layer's weights and biases.

    Raises WrongAnswer, naming the array.
    """
    replayed = assert_replays(case, outcome)
    with case_context(case, outcome):
        assert_final(replayed, _arrays_of(case, outcome, 0), rtol=RTOL)


def assert_batches(case: Fit, outcome: Outcome) -> None:
    """Assert that the workers together trained on number_of_batches whole batches per epoch.

    Raises WrongAnswer with the share of every worker.
    """
    with case_context(case, outcome):
        numbers = {}
        for rank in range(outcome.ranks):
            batches = trained_batches(case, outcome, rank)
            if rank >= case.num_masters:
                numbers[rank] = len(batches)
            elif batches:
                raise WrongAnswer(
                    f"rank {rank} is a master, but trained on {len(batches)} batches itself"
                )
            assert_batch_size(case, outcome, rank, case.mini_batch_size, "mini_batch_size")
        if sum(numbers.values()) != case.num_steps:
            told = ", ".join(f"rank {rank}: {number}" for rank, number in numbers.items())
            hint = "they share number_of_batches between them; what is left over after an even "
            hint += "division goes to some of them"
            raise WrongAnswer(
                f"the workers trained on {sum(numbers.values())} batches ({told}), expected "
                f"number_of_batches x epochs = {case.number_of_batches} x {case.epochs} = "
                f"{case.num_steps}; {hint}"
            )


def assert_messages(case: Fit, outcome: Outcome) -> None:
    """Assert that gradients and new values travel between a worker and each layer's one master.

    Raises RuleViolation with the bytes.
    """
    with case_context(case, outcome):
        numbers = {
            rank: len(trained_batches(case, outcome, rank))
            for rank in range(case.num_masters, outcome.ranks)
        }
        owned = ownership.assert_one_owner_per_layer(
            outcome.trace, case.sizes, case.num_masters, numbers
        )
        ownership.assert_gathered(outcome.trace, case.sizes, owned)


def assert_training_comes_from_messages(
    run: Callable[..., Any], cases: Mapping[int, Sequence[Fit]]
) -> None:
    """Assert that no order of updates explains the training once a rank's messages are altered.

    No two runs go the same way, so answers are not compared: the replay has to fail. cases: by
    ranks, all that the part is called with. Raises NotProven.
    """
    plain = run(ALTERED_RANKS, cases[ALTERED_RANKS]).having(group=TWO_MASTERS)
    ((case, outcome),) = plain
    messages = every_message_fault(outcome, range(outcome.ranks))
    effects = inject_faults(
        run, ALTERED_RANKS, case, outcome, messages, assert_process_0_holds_the_result
    )
    assert_messages_matter(outcome.trace, effects)


def assert_others_went_on(case: Fit, outcome: Outcome) -> None:
    """Assert that while one worker was held in its first batch, another finished three.

    Raises RuleViolation.
    """
    slow = case.num_masters
    with case_context(case, outcome):
        if outcome["others_went_on"][slow][0] != 1:
            raise RuleViolation(
                f"while rank {slow} was held in its first forward_prop, no other worker got "
                f"through three batches: rank 0 seems to wait for the workers in a fixed order; "
                "let a master take the gradients of any worker, as with MPI.ANY_SOURCE"
            )


def assert_trained_as_one_process(case: Fit, outcome: Outcome) -> None:
    """Assert for a single worker that process 0 ends as serial training on its batches does.

    Raises WrongAnswer, naming the array.
    """
    with case_context(case, outcome):
        (worker,) = range(case.num_masters, outcome.ranks)
        batches = [
            examples(outcome, worker, rows) for rows in trained_batches(case, outcome, worker)
        ]
        start = outcome.inputs[0]["start"]
        expected = serial.train(start, case.sizes, case.learning_rate, batches)
        for name, array in serial.unpacked(expected, case.sizes).items():
            on_process_0 = [outcome[name][0]]
            assert_every_rank(on_process_0, equals=array, name=name, rtol=RTOL, atol=RTOL)


def _updates(case: Fit, outcome: Outcome) -> list[Update]:
    """Return what every worker did, with the gradients it should have found."""
    updates: list[Update] = []
    for rank in range(case.num_masters, outcome.ranks):
        batches, seen = trained_batches(case, outcome, rank), outcome["seen"][rank]
        if len(updates) + len(batches) > _MOST_BATCHES * case.num_steps:
            raise WrongAnswer(
                f"the workers trained on more than {_MOST_BATCHES} times the number_of_batches x "
                f"epochs = {case.num_steps} batches they are to share"
            )
        if len(seen) != len(batches):
            raise WrongAnswer(f"rank {rank}: the batches it trained on do not fit together")
        held = [*seen, serial.packed(_arrays_of(case, outcome, rank), case.sizes)]
        for number, rows in enumerate(batches):
            inputs, labels = examples(outcome, rank, rows)
            gradient = serial.gradient(seen[number], case.sizes, inputs, labels)
            before, by_name, after = (
                serial.unpacked(vector, case.sizes)
                for vector in (held[number], gradient, held[number + 1])
            )
            updates.append(Update(rank, number, before, by_name, after))
    return updates


def _arrays_of(case: Fit, outcome: Outcome, rank: int) -> dict[str, np.ndarray]:
    return {name: outcome[name][rank] for name in case.shapes}


def _cases(ranks: int) -> tuple[Fit, ...]:
    """Return first what every later case takes for granted: a hang ends the part."""
    one, two, any_shape = ({"group": group} for group in GROUPS)
    unbuffered = {"unbuffered": True}
    return {
        2: (
            *timed(FILE, CLASS_NAME, 1, "yardstick", 0),
            _fit(1, _EVEN, **one),
            *timed(FILE, CLASS_NAME, 1, "timing", 0),
        ),
        3: (
            _fit(1, _EVEN, **one),
            _fit(2, _EVEN, **two),
            _fit(1, _EVEN, **unbuffered),
        ),
        4: (
            _fit(1, _EVEN, **one),
            _fit(2, _EVEN, **two),
            _fit(1, 15, epochs=1, purpose="slow worker"),
            _fit(1, _UNEVEN, **any_shape),
            _fit(2, _UNEVEN, **any_shape),
        ),
        5: (
            _fit(4, _EVEN, **any_shape),
            _fit(2, _UNEVEN, **any_shape),
            _fit(1, _UNEVEN, **any_shape),
            _fit(2, _EVEN, **unbuffered),
        ),
        8: (
            _fit(1, 5, **any_shape),  # more workers than batches
            _fit(1, _UNEVEN, **any_shape),
            _fit(2, _EVEN, **any_shape),
            _fit(4, _UNEVEN, **any_shape),
        ),
        16: (
            _fit(4, _UNEVEN, **any_shape),  # more workers than batches
            _fit(1, 17, epochs=1, **any_shape),
        ),
    }[ranks]


def _fit(
    masters: int,
    number_of_batches: int,
    *,
    epochs: int = 2,
    purpose: str = "values",
    group: str = "",
    unbuffered: bool = False,
) -> Fit:
    return Fit(
        "fit_beside_a_slow_worker" if purpose == "slow worker" else "fit",
        unbuffered,
        file=FILE,
        class_name=CLASS_NAME,
        sizes=FOUR_LAYERS if masters > 1 else THREE_LAYERS,
        number_of_batches=number_of_batches,
        epochs=epochs,
        mini_batch_size=8,
        num_masters=masters,
        purpose=purpose,
        group=group,
        learning_rate=0.02,  # late gradients of many workers would drive the sigmoids flat
    )
