"""What must come of hogwild.

No two runs go the same way: processes read weights while others write them, and very rarely a
write is lost. So several processes are judged by what holds for every schedule.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    Finding,
    NotProven,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_every_rank,
    case_context,
    counted,
    found,
)

from . import softmax_regression
from .data_parts import assert_complete, assert_disjoint, parts_of
from .hogwild_cases import FOR_EACH_WRITE, Hogwild
from .hogwild_workers import all_batches, batches_by_process, batches_by_worker
from .softmax_regression import Vector
from .training_cases import (
    ATOL,
    examples,
    given_start,
    softmax_twice,
    trained,
    trained_serially,
    unpacked,
)

Check = Callable[[Hogwild, Outcome], None]

PRIVATE = -1
"""The number of memory that belongs to one process, of a write into it."""
FEW = 0.3
"""Which part of the others' steps, relative to that of its own ones, is too little in a process's
weights: 0.7 to 1 on busy cores, 0.6 with shorter steps; 0.14 where a hundredth is mixed in."""
UNEXPLAINED, MOST = 0.2, 0.5
"""How much of what changes in gradients such parts leave open: 0.05; 0.9 for another loss."""
NONE = 0.1
"""Which part of its own steps is none: of steps divided by four processes a quarter is there."""
_FEW_WRITES = 2
"""So many steps are none in training: the start is copied into shared memory, or the end out."""
_SHARED = "compute each gradient at the weights that all processes share"

_TINY = 1e-12
SUM_MARGIN = 0.35
"""How far, relative to the way gone, the end may be from the start minus all steps: a write that is
preempted half-way loses some steps on some weights, one of two processes' steps would be half.

On a busy machine processes are preempted more often, but the time between reading and writing one
weight stays some nanoseconds of a step's millisecond; and who is preempted between its gradient
and its write loses nothing, its step is only based on weights that are older."""

TYPICAL_MARGIN = 0.2
"""How far half of the weights may be off, relative to the way gone: a late copy of all weights
loses a whole step, which was 0.14 at most; steps a quarter too short are off by 0.26."""

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
        batches = all_batches(case, outcome)
        expected = trained_serially(case, outcome, given_start(outcome, 0), batches)
        try:
            for name, array in unpacked(expected).items():
                ours = unpacked(trained(outcome, 0))[name]
                assert_every_rank([ours], equals=array, name=name, rtol=ATOL, atol=ATOL)
        except WrongAnswer as error:
            start, first = given_start(outcome, 0), outcome["gradients"][0][0]
            twice = softmax_twice(first, start, examples(outcome, batches[0]))
            reason = twice or _missing_steps(case, outcome)
            raise WrongAnswer.at([*reason, *error.findings], error.differences) from None


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
            text = f"The loss over the dataset went from {before:.3f} to {here:.3f}; "
            text += f"plain SGD reaches {there:.3f} with the same lr and epochs."
            helps = f"the decrease must be at least {1 - LOSS_MARGIN:.0%} of plain SGD's"
            losses = {"before": before, "after": here, "plain_sgd": there}
            facts: dict[str, Any] = {name: round(loss, 3) for name, loss in losses.items()}
            falls = found("hogwild.loss_falls_too_little", text, help=helps, **facts)
            raise WrongAnswer(*_missing_steps(case, outcome), falls)


def assert_workers(case: Hogwild, outcome: Outcome) -> None:
    """Assert that num_processes processes or threads computed gradients.

    Raises WrongAnswer with how many did.
    """
    with case_context(case, outcome):
        workers = batches_by_worker(case, outcome)
        number = len(workers)
        if number != case.num_processes:
            noun = "process" if number == 1 else next(iter(workers)).split()[0]
            expected = case.num_processes
            plural = "processes" if noun == "process" else ""
            text = f"{counted(number, noun, plural)} computed gradients; "
            text += f"num_processes is {expected}."
            raise WrongAnswer.of(
                "hogwild.number_of_workers", text, number=number, expected=expected
            )


def assert_processes(case: Hogwild, outcome: Outcome) -> None:
    """Assert that exactly num_processes processes computed gradients.

    Raises WrongAnswer with how many did, and in how many threads; NotProven when fewer showed up
    than are said to have done so.
    """
    with case_context(case, outcome):
        number = len(batches_by_process(case, outcome))
        if number == case.num_processes:
            return
        facts: dict[str, Any] = {"number": number, "expected": case.num_processes}
        told = f"{counted(number, 'process', 'processes')} computed gradients"
        expected = f"num_processes is {case.num_processes}"
        num_threads = len(set(outcome["threads"][0].tolist()))
        if num_threads > number:
            text = f"{told}, in {num_threads} threads; {expected}."
            raise WrongAnswer.of(
                "hogwild.threads",
                text,
                help="start processes, not threads",
                num_threads=num_threads,
                **facts,
            )
        raise WrongAnswer.of("hogwild.number_of_processes", f"{told}; {expected}.", **facts)


def assert_several_train(case: Hogwild, outcome: Outcome) -> None:
    """Assert that not one process alone computed all gradients. Raises what assert_processes does.

    How many there are, and what they learn, is for other checks.
    """
    with case_context(case, outcome):
        several = len(batches_by_process(case, outcome)) > 1
    if not several:
        assert_processes(case, outcome)


def assert_in_threads(case: Hogwild, outcome: Outcome) -> None:
    """Assert that num_processes threads of one process computed gradients. Raises WrongAnswer."""
    with case_context(case, outcome):
        told = list(batches_by_worker(case, outcome))
        if len(told) != case.num_processes or not told[0].startswith("thread"):
            raise WrongAnswer.of(
                "hogwild.not_threads",
                "The gradients were not computed by num_processes threads of one process.",
                told=told,
            )


def assert_parts_disjoint(case: Hogwild, outcome: Outcome) -> None:
    """Assert that no example belongs to two processes. Raises WrongAnswer with one that does."""
    with case_context(case, outcome):
        assert_disjoint(parts_of(batches_by_worker(case, outcome)))


def assert_parts_complete(case: Hogwild, outcome: Outcome) -> None:
    """Assert that each process goes through its part once an epoch, and none is left out.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        assert_complete(case, batches_by_worker(case, outcome))


def assert_shared(case: Hogwild, outcome: Outcome, *, is_sgd: bool = False) -> None:
    """Assert that all processes step the same weights, in whatever shared memory these lie.

    Every step is seen to be written where all processes write; where torch writes no steps, a
    process's gradients show that the others' steps are in its weights. None may show that they are
    not.
    is_sgd: one process takes plain SGD's steps, so that steps explain gradients of several as well.
    Raises RuleViolation with a process of which this does not hold; NotProven where it has few of
    the others' steps in its weights, or none at all.
    """
    with case_context(case, outcome):
        (writers,), (written,), (sizes,) = (outcome[name] for name in FOR_EACH_WRITE)
        by_process = batches_by_process(case, outcome)
        of_each = [
            set(written[writers == number].tolist()) - {PRIVATE}
            for number in range(len(by_process))
        ]
        common = set.intersection(*filter(None, of_each)) if any(of_each) else set()
        is_common = np.isin(written, list(common))
        size = len(given_start(outcome, 0))
        # A counter has size 1. Who computed no gradient has no step of its own to write.
        is_step = (sizes > 1) & ((written != PRIVATE) | (writers >= len(by_process)))
        num_seen = int(sizes[is_step].sum()) // size
        private = []
        for number, batches in enumerate(by_process):
            own = writers == number
            num_steps = int(sizes[own & is_common].sum()) // size
            of_own, of_others, unexplained = _steps_in_weights(case, outcome, number)
            is_clear, is_written = unexplained < UNEXPLAINED, num_steps >= len(batches)
            has_no_own = is_clear and is_written and len(batches) > 1 and of_own < NONE
            if (is_sgd and unexplained > MOST) or has_no_own:
                text = f"Process {number} of {len(by_process)} computed its gradients at weights "
                text += "that do not follow from the recorded steps."
                reason = found("hogwild.other_weights", text, help=_SHARED, process=number)
                raise NotProven(reason)
            if of_others > of_own * FEW and (is_written or num_seen <= _FEW_WRITES):
                continue
            if is_written:
                if is_clear:
                    private.append((of_others, number))
                continue
            told = f"Process {number} of {len(by_process)} computed "
            told += f"{counted(len(batches), 'gradient')}, but"
            facts: dict[str, Any] = {"process": number, "num_gradients": len(batches)}
            if (written[own] != PRIVATE).any():
                facts["num_steps"] = num_steps
                steps = f"only {counted(num_steps, 'step')}" if num_steps else "no step"
                text = f"{told} wrote {steps} into shared memory that all processes update."
                helps = "every step must be written into the shared weights, in place"
                raise RuleViolation.of("hogwild.few_steps_shared", text, help=helps, **facts)
            if own.any():
                text = f"{told} updated weights in its own memory."
                helps = "the parameters must be shared before the processes start"
                raise RuleViolation.of("hogwild.weights_not_shared", text, help=helps, **facts)
            text = f"{told} wrote to no parameter."
            helps = "does your code take every step, and write it into the parameters in place?"
            raise RuleViolation.of("hogwild.no_step_written", text, help=helps, **facts)
        if private:
            of_others, number = min(private)
            text = f"Process {number} of {len(by_process)} computed its gradients at weights "
            if of_others > 0:
                text += f"that contained only {of_others:.0%} of the other processes' steps."
                few = {"process": number, "share": of_others}
                raise NotProven.of("hogwild.few_steps_of_others", text, help=_SHARED, **few)
            text += "that contained only its own steps."
            raise RuleViolation.of("hogwild.own_steps_only", text, help=_SHARED, process=number)


def _steps_in_weights(case: Hogwild, outcome: Outcome, number: int) -> tuple[float, float, float]:
    """Return which parts of its own and of others' steps explain a process's gradients best.

    In hundredths; and how much of their change, or of what its own steps would change, is left:
    NaN where others have hardly stepped meanwhile. At the moment of a gradient some steps of others
    are still to be written, or have been since.
    """
    batches, gradients = all_batches(case, outcome), outcome["gradients"][0].astype(np.float64)
    own, start = outcome["processes"][0] == number, given_start(outcome, 0)

    def gradients_after(included: NDArray[np.bool_]) -> Vector:
        """Return its gradients as they would be at the start and the included steps."""
        steps = case.lr * gradients * included[:, None]
        there = [
            softmax_regression.gradient(start - steps[:at].sum(axis=0), *examples(outcome, rows))
            for at, rows in enumerate(batches)
        ]
        return np.array(there)[own].ravel()

    none, of_own, of_all = map(gradients_after, (np.zeros_like(own), own, np.ones_like(own)))
    changes = np.stack([of_own - none, of_all - of_own], axis=1)
    change = gradients[own].ravel() - none
    parts = np.linalg.lstsq(changes, change)[0]
    left, whole = (np.linalg.norm(each) for each in (change - changes @ parts, change))
    by_own, by_others = np.linalg.norm(changes, axis=0)
    unexplained = float(left / max(whole, by_own)) if by_others > by_own * FEW else np.nan
    return round(float(parts[0]), 2), round(float(parts[1]), 2), unexplained


def assert_own_gradients(case: Hogwild, outcome: Outcome) -> None:
    """Assert that no process steps by a gradient in shared memory, which others overwrite.

    Raises WrongAnswer with the parameter and the line of the step.
    """
    with case_context(case, outcome):
        (shared,) = outcome["shared"]
        if shared:
            name, _, place = shared.partition(", at ")
            at = f" at {place}" if place else ""
            text = f"A process took its step{at} with {name} in shared memory, where other "
            text += "processes overwrite it."
            helps = "only the weights may be shared: do gradients already exist when you call "
            helps += "share_memory(), and does zero_grad() keep them?"
            raise WrongAnswer.of(
                "hogwild.gradients_shared", text, help=helps, name=name, place=place
            )


def assert_all_steps_count(case: Hogwild, outcome: Outcome) -> None:
    """Assert that the end is the start minus lr times every gradient, but for a few lost writes.

    And that no process trained on after hogwild had returned. Raises WrongAnswer with how far it is
    off, and with a known mistake that explains it.
    """
    with case_context(case, outcome):
        if outcome["is_early"][0][0]:
            text = "hogwild returned while its processes still trained."
            helps = "hogwild must wait for each of its processes, for instance by join()"
            raise WrongAnswer.of("hogwild.returned_early", text, help=helps)
        moved, steps = _moved_and_steps(case, outcome)
        expected = steps.sum(axis=0)
        distance = float(np.linalg.norm(moved - expected) / np.linalg.norm(expected))
        typical = float(np.median(np.abs(moved - expected) / np.maximum(np.abs(expected), _TINY)))
        if distance <= SUM_MARGIN and typical <= TYPICAL_MARGIN:
            return
        text = f"The returned weights differ by {distance:.0%} from the expected ones: the start "
        text += f"weights minus lr times the sum of all {len(steps)} gradients."
        helps = f"up to {SUM_MARGIN:.0%} is allowed, and {TYPICAL_MARGIN:.0%} in most weights: "
        helps += "simultaneous writes lose some steps"
        facts: dict[str, Any] = {"distance": round(distance, 2), "num_gradients": len(steps)}
        off = found("hogwild.steps_do_not_add_up", text, help=helps, **facts)
        raise WrongAnswer(*_missing_steps(case, outcome), off)


def _moved_and_steps(case: Hogwild, outcome: Outcome) -> tuple[Vector, Vector]:
    """Return how far the weights went from the start, and all steps that were computed.

    Raises WrongAnswer where there are none.
    """
    all_batches(case, outcome)
    steps = -case.lr * outcome["gradients"][0].astype(np.float64)
    return trained(outcome, 0) - given_start(outcome, 0), steps


def _missing_steps(case: Hogwild, outcome: Outcome) -> list[Finding]:
    """Return the mistake that leads to these weights; none for an unknown one."""
    moved, steps = _moved_and_steps(case, outcome)
    (processes,) = outcome["processes"]
    steps_of_each = [steps[processes == number] for number in sorted(set(processes))]
    by_process = [own.sum(axis=0) for own in steps_of_each]
    if np.allclose(moved, 0, atol=ATOL):
        text = "The returned weights are the start weights: they contain no steps."
        return [found("hogwild.start_weights_returned", text)]
    piled_up = np.sum([own.cumsum(axis=0).sum(axis=0) for own in steps_of_each], axis=0)
    off, by_which = (np.linalg.norm(each - piled_up) for each in (moved, steps.sum(axis=0)))
    if off < TYPICAL_MARGIN * by_which:
        text = "The steps used earlier batches' gradients again."
        helps = "where does your code set gradients to zero before backward() adds to them?"
        return [found("hogwild.gradients_pile_up", text, help=helps)]
    if len(by_process) == 1:
        return []
    if np.allclose(moved, steps.sum(axis=0) / len(by_process), atol=ATOL):
        text = "The returned weights contain the mean of the processes' steps, not their sum."
        return [found("hogwild.steps_averaged", text)]
    for number, own in enumerate(by_process):
        if np.allclose(moved, own, atol=ATOL):
            text = f"The returned weights contain only the steps of process {number}."
            return [found("hogwild.steps_of_one_process", text, process=number)]
    return []
