"""What must come of hogwild.

No two runs go the same way: processes read weights while others write them, and very rarely a
write is lost. So several processes are judged by what holds for every schedule.
"""

from collections.abc import Callable

import numpy as np

from grader.api import (
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_every_rank,
    case_context,
)

from . import softmax_regression
from .hogwild_cases import FOR_EACH_WRITE, Hogwild
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
    trained_serially,
    unpacked,
)

Check = Callable[[Hogwild, Outcome], None]

_GRADIENT_ATOL = 1e-4

SUM_MARGIN = 0.35
"""How far, relative to the way gone, the end may be from the start minus all steps: a write that is
preempted half-way loses some steps on some weights, one of two processes' steps would be half.

On a busy machine processes are preempted more often, but the time between reading and writing one
weight stays some nanoseconds of a step's millisecond; and who is preempted between its gradient
and its write loses nothing, its step is only based on weights that are older."""

LOSS_MARGIN = 0.25
"""By how much the loss may fall less than under serial SGD, relative to its fall there.

The steps are so small that gradients hardly depend on which steps came before: even if all were
taken at the start weights, the loss would fall 98% as far. So the order in which a busy machine
lets the processes step does not matter."""


def assert_serial(case: Hogwild, outcome: Outcome) -> None:
    """Assert that one process ends as SGD on its batches, one after the other.

    Raises WrongAnswer with the first weight that differs.
    """
    with case_context(case, outcome):
        batches = _batches(case, outcome)
        expected = trained_serially(case, outcome, given_start(outcome, 0), batches)
        try:
            for name, array in unpacked(expected).items():
                found = unpacked(trained(outcome, 0))[name]
                assert_every_rank([found], equals=array, name=name, rtol=ATOL, atol=ATOL)
        except WrongAnswer as error:
            given = examples(outcome, batches[0])
            double = softmax_regression.gradient_of_double_softmax(given_start(outcome, 0), *given)
            hint = ""
            if np.allclose(outcome["gradients"][0][0], double, atol=_GRADIENT_ATOL):
                hint = (
                    ". Its first gradient is the one of CrossEntropyLoss, which takes a softmax of "
                    "its own of the probabilities; use the loss of training.py"
                )
            raise WrongAnswer(f"{error}{hint}") from None


def assert_loss_falls(case: Hogwild, outcome: Outcome) -> None:
    """Assert that the loss falls about as far as serial SGD takes it on the same batches.

    Raises WrongAnswer with both falls.
    """
    with case_context(case, outcome):
        everything = examples(outcome, np.arange(case.num_examples))
        start = given_start(outcome, 0)
        serial = start
        for epoch in np.split(np.tile(np.arange(case.num_examples), case.epochs), case.epochs):
            batches = [
                epoch[begin : begin + case.batch_size]
                for begin in range(0, len(epoch), case.batch_size)
            ]
            serial = trained_serially(case, outcome, serial, batches)
        before, there, here = (
            softmax_regression.loss(parameters, *everything)
            for parameters in (start, serial, trained(outcome, 0))
        )
        if before - here < (1 - LOSS_MARGIN) * (before - there):
            raise WrongAnswer(
                f"the loss over the dataset goes from {before:.3f} to {here:.3f}; plain SGD, with "
                f"as many epochs and this lr, takes it to {there:.3f}, and {1 - LOSS_MARGIN:.0%} "
                "of that fall are asked for"
            )


def assert_workers(case: Hogwild, outcome: Outcome) -> None:
    """Assert that num_processes processes or threads computed gradients.

    Raises WrongAnswer with how many did.
    """
    with case_context(case, outcome):
        number = len(_batches_by_worker(case, outcome))
        if number != case.num_processes:
            raise WrongAnswer(
                f"{counted(number, 'process', 'processes')} computed gradients; expected "
                f"num_processes = {case.num_processes}"
            )


def assert_processes(case: Hogwild, outcome: Outcome) -> None:
    """Assert that exactly num_processes processes computed gradients.

    Raises WrongAnswer with how many did, and in how many threads; NotProven when fewer showed up
    than are said to have done so.
    """
    with case_context(case, outcome):
        number = len(batches_by_process(case, outcome))
        (threads,) = outcome["threads"]
        if number != case.num_processes:
            num_threads = len(set(threads.tolist()))
            told = f", in {num_threads} threads" if num_threads > number else ""
            raise WrongAnswer(
                f"{counted(number, 'process', 'processes')} computed gradients{told}; expected "
                f"num_processes = {case.num_processes}, each with a process id of its own"
            )


def assert_parts_disjoint(case: Hogwild, outcome: Outcome) -> None:
    """Assert that no example belongs to two processes. Raises WrongAnswer with one that does."""
    with case_context(case, outcome):
        assert_disjoint(parts_of(_batches_by_worker(case, outcome)), "the processes'")


def assert_parts_complete(case: Hogwild, outcome: Outcome) -> None:
    """Assert that each process goes through its part once an epoch, and none is left out.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        assert_complete(case, _batches_by_worker(case, outcome), "the processes'")


def assert_shared(case: Hogwild, outcome: Outcome) -> None:
    """Assert that all processes wrote every step into one and the same shared memory.

    Raises RuleViolation with a process that did not.
    """
    with case_context(case, outcome):
        (writers,), (written,) = outcome["writers"], outcome["written"]
        (is_shared,) = outcome["written_is_shared"]
        by_process = batches_by_process(case, outcome)
        for number, batches in enumerate(by_process):
            own = writers == number
            # Each of the two parameters; more than one write may make a step.
            num_steps = min(int((written[own] == place).sum()) for place in (0, 1))
            if num_steps >= len(batches):
                continue
            told = f"writes {counted(num_steps, 'step', 'steps')} into"
            if not own.any():
                told = "writes nothing into the parameters, and so nothing into"
            elif not is_shared[own].any():
                told = "steps weights in memory of its own, not those in"
            raise RuleViolation(
                f"process {number} of {len(by_process)} computes {len(batches)} gradients and "
                f"{told} the shared memory of the model that is returned; the parameters are to be "
                "shared (model.share_memory() before the processes start) and every step is to be "
                "written into them in place"
            )


def assert_own_gradients(case: Hogwild, outcome: Outcome) -> None:
    """Assert that no process steps by a gradient in shared memory, which others overwrite.

    Raises WrongAnswer with the parameter and the line of the step.
    """
    with case_context(case, outcome):
        (shared,) = outcome["shared"]
        if shared:
            raise WrongAnswer(
                f"a process steps by a gradient that lies in shared memory ({shared}): the other "
                "processes write theirs to the same place; only the weights are to be shared. "
                "Gradients are put there by share_memory() when they exist already, or by "
                "zero_grad(set_to_none=False) in a model that had some"
            )


def assert_all_steps_count(case: Hogwild, outcome: Outcome) -> None:
    """Assert that the end is the start minus lr times every gradient, but for a few lost writes.

    Raises WrongAnswer with how far it is off, and with a known mistake that explains it.
    """
    with case_context(case, outcome):
        _batches(case, outcome)
        (gradients,), (processes,) = outcome["gradients"], outcome["processes"]
        start, end = given_start(outcome, 0), trained(outcome, 0)
        moved = end - start
        steps = -case.lr * gradients.astype(np.float64)
        expected = steps.sum(axis=0)
        by_process = [steps[processes == number].sum(axis=0) for number in sorted(set(processes))]
        distance = float(np.linalg.norm(moved - expected) / np.linalg.norm(expected))
        if distance <= SUM_MARGIN:
            return
        likely = [
            (np.zeros_like(expected), "no step is in them: they are the start weights"),
            (expected / len(by_process), "the processes' steps are averaged in them, not added"),
            *((own, f"only the steps of process {n} are") for n, own in enumerate(by_process)),
        ]
        mistake = next(
            (f"; {text}" for sum_of, text in likely if np.allclose(moved, sum_of, atol=ATOL)), ""
        )
        raise WrongAnswer(
            f"the returned weights are {distance:.0%} away from the start minus lr times the "
            f"{len(steps)} gradients that were computed (up to {SUM_MARGIN:.0%} may be lost where "
            f"processes write at one moment){mistake}"
        )


def batches_by_process(case: Hogwild, outcome: Outcome) -> list[list[Rows]]:
    """Return the batches of each process that computed gradients.

    Raises WrongAnswer where there are none; NotProven when fewer processes were seen.
    """
    found = _batches_by(case, outcome, "processes")
    assert_seen(outcome.num_processes, len(found), "computed gradients")
    return found


def assert_seen(seen: int | None, said: int, what: str) -> None:
    """Assert that no more processes are said to have been there than were seen.

    The record of a training is what its processes write. Seen is each that trains, before it goes
    on: on a busy machine all wait a little longer. None where nobody looks, as in open mode.
    """
    if seen is not None and seen < said:
        raise NotProven(
            f"{counted(said, 'process is', 'processes are')} said to have {what}, but only "
            f"{counted(seen, 'process', 'processes')} showed up; a person should look"
        )


def counted(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _batches_by_worker(case: Hogwild, outcome: Outcome) -> dict[str, list[Rows]]:
    """Return the batches of each process; or of each thread, if all are in one process."""
    found, name = _batches_by(case, outcome, "processes"), "process"
    if len(found) == 1 < case.num_processes:
        found, name = _batches_by(case, outcome, "threads"), "thread"
    return {f"{name} {number}": batches for number, batches in enumerate(found)}


def _batches_by(case: Hogwild, outcome: Outcome, who: str) -> list[list[Rows]]:
    (workers,) = outcome[who]
    batches = _batches(case, outcome)
    return [
        [batch for batch, worker in zip(batches, workers, strict=True) if worker == number]
        for number in sorted(set(workers.tolist()))
    ]


def _batches(case: Hogwild, outcome: Outcome) -> list[Rows]:
    batches = trained_batches(case, outcome, 0)
    if not batches:
        raise WrongAnswer(
            "no process computed a gradient of the model that hogwild was given; it trains "
            "`model`, with model(inputs), a loss and backward()"
        )
    writes = {name: len(outcome[name][0]) for name in FOR_EACH_WRITE}
    if len(set(writes.values())) > 1:
        numbers = ", ".join(f"{number} {name}" for name, number in writes.items())
        raise WrongAnswer(
            f"what is told of the writes into the parameters does not fit together: {numbers}; "
            "expected one of each for every write"
        )
    return batches
