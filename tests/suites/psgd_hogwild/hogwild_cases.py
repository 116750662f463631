"""What hogwild is called with, and what must come of it.

No two runs go the same way: processes read weights while others write them, and very rarely a
write is lost. So several processes are judged by what holds for every schedule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.judge.findings import NotProven, RuleViolation, WrongAnswer
from grader.judge.values import assert_every_rank
from grader.model import Outcome
from grader.suite.case import Array, Data, Text
from grader.suite.wording import case_context

from . import softmax_regression
from .sources import names
from .training_cases import (
    ATOL,
    Rows,
    Training,
    assert_batch_sizes,
    assert_cover,
    assert_epochs_of,
    examples,
    given_start,
    trained,
    trained_batches,
    trained_serially,
    unpacked,
)

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

_LOCKS = ("Lock", "RLock", "Semaphore", "BoundedSemaphore", "flock", "lockf")
_WAITS = ("Barrier", "Condition", "Event")
_FOR_EACH_WRITE = ("writers", "written", "written_is_shared")


@dataclass(frozen=True, kw_only=True)
class Hogwild(Training):
    """One call of hogwild, in a process that is no rank of anything."""

    probe: str = "train_hogwild"
    num_processes: int
    meets: bool = False
    """All processes are made to be in the middle of a step at one moment.

    It also keeps a pool honest: no worker can have done two parts before the next one comes.
    """

    @property
    def label(self) -> str:
        """Return the number of processes and the size of the training."""
        processes = "1 process" if self.num_processes == 1 else f"{self.num_processes} processes"
        return f"{processes}, {super().label}"

    @property
    def is_parallel(self) -> bool:
        """Return whether there is more than one process."""
        return self.num_processes > 1

    def inputs(
        self, random: np.random.Generator, ranks: int, data: Data
    ) -> Sequence[Mapping[str, Any]]:
        """Return the training's inputs and how many processes it is for."""
        own = {"num_processes": self.num_processes, "meets": self.meets}
        return [{**same, **own} for same in super().inputs(random, ranks, data)]

    def results(self, rank: int, ranks: int) -> Mapping[str, Array | Text]:
        """Return the form of the training's results and of who wrote where."""
        return {
            **super().results(rank, ranks),
            **{name: Array("int64", (None,)) for name in _FOR_EACH_WRITE},
            "meeting": Array("int64", (3,)),
            **{name: Text(max_num_chars=200) for name in ("held", "waited")},
        }


def cases() -> tuple[Hogwild, ...]:
    """Return all trainings: one launch.

    The steps are so small that the loss still falls in proportion to what has been stepped.
    """
    small = {"epochs": 3, "batch_size": 4, "lr": 2.0**-8}
    return (
        Hogwild(num_processes=1, num_examples=53, **small),
        Hogwild(num_processes=2, num_examples=96, meets=True, **small),
        Hogwild(num_processes=3, num_examples=97, meets=True, **small),
        Hogwild(num_processes=4, num_examples=96, meets=True, **small),
        Hogwild(num_processes=2, num_examples=96, seed=1, meets=True, **small),
    )


def assert_serial(case: Hogwild, outcome: Outcome) -> None:
    """Assert that one process ends as SGD on its batches, one after the other.

    Raises WrongAnswer with the first weight that differs.
    """
    with case_context(case, outcome):
        batches = _batches(case, outcome)
        expected = trained_serially(case, outcome, given_start(outcome, 0), batches)
        for name, array in unpacked(expected).items():
            found = unpacked(trained(outcome, 0))[name]
            assert_every_rank([found], equals=array, name=name, rtol=ATOL, atol=ATOL)


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


def assert_processes(case: Hogwild, outcome: Outcome) -> None:
    """Assert that exactly num_processes processes computed gradients.

    Raises WrongAnswer with how many did, and in how many threads; NotProven when fewer showed up
    than are said to have done so.
    """
    with case_context(case, outcome):
        number = len(_batches_by_process(case, outcome))
        (threads,) = outcome["threads"]
        if number != case.num_processes:
            num_threads = len(set(threads.tolist()))
            told = f", in {num_threads} threads" if num_threads > number else ""
            raise WrongAnswer(
                f"{_counted(number, 'process', 'processes')} computed gradients{told}; expected "
                f"num_processes = {case.num_processes}, each with a process id of its own"
            )


def assert_parts(case: Hogwild, outcome: Outcome) -> None:
    """Assert that the processes' parts of the data are disjoint, complete, and used every epoch.

    Raises WrongAnswer with an example that comes too often or not at all.
    """
    with case_context(case, outcome):
        by_process = _batches_by_process(case, outcome)
        parts = {}
        for number, batches in enumerate(by_process):
            who = f"process {number}"
            parts[who] = assert_epochs_of(case, who, batches)
            assert_batch_sizes(case, who, batches, len(parts[who]))
        assert_cover(case, parts, "the processes'")


def assert_shared(case: Hogwild, outcome: Outcome) -> None:
    """Assert that all processes wrote every step into one and the same shared memory.

    Raises RuleViolation with a process that did not.
    """
    with case_context(case, outcome):
        (writers,), (written,) = outcome["writers"], outcome["written"]
        (is_shared,) = outcome["written_is_shared"]
        by_process = _batches_by_process(case, outcome)
        for number, batches in enumerate(by_process):
            own = writers == number
            # Each of the two parameters; more than one write may make a step.
            num_steps = min(int((written[own] == place).sum()) for place in (0, 1))
            if num_steps >= len(batches):
                continue
            told = f"writes {_counted(num_steps, 'step', 'steps')} into"
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


def assert_nobody_waits(case: Hogwild, outcome: Outcome, sources: Mapping[str, str]) -> None:
    """Assert that all processes were in the middle of a step at one moment, and held no lock.

    The verdict does not depend on how busy the machine is. The process that comes first stays in
    its step until the others are in theirs. While they are ready to run, or have had a moment on a
    core, it goes on waiting (15 s at most; to come takes a forked one 0.1 s of CPU time); only when
    all of them have slept for 3 s, as whoever waits for a lock does, it gives up. A lock around the
    step cannot pass: its holder stays, so nobody else can ever come. A lock around another part of
    the batch is asked whether it is held at every forward pass, gradient and write, and a wait in
    between leaves its count; both are facts of one process, with no clock in them.

    sources: the files handed in, to name a lock in them. Raises RuleViolation; NotProven when no
    process was seen to step, or fewer were there at one moment than are said to have been.
    """
    with case_context(case, outcome):
        num_arrived, num_gave_up, num_started = outcome["meeting"][0].tolist()
        if not num_arrived:
            raise NotProven(
                "no operation of torch wrote into the parameters, so it was not seen whether the "
                "processes wait for each other"
            )
        if num_gave_up or num_arrived < case.num_processes:
            why = _first_named(sources, (*_LOCKS, *_WAITS))
            if num_started < case.num_processes:
                why = f" ({_counted(num_started, 'process', 'processes')} had been started by then)"
            raise RuleViolation(
                "while one process was in the middle of a step, the others did not begin theirs: "
                f"they seem to wait for it{why}; in Hogwild no process waits for another"
            )
        (held,), (waited,) = outcome["held"], outcome["waited"]
        if held:
            raise RuleViolation(
                f"a process holds a lock while it runs {held}"
                f"{_first_named(sources, _LOCKS)}; in Hogwild no lock is around any part of the "
                "training: not the step, and not the forward or backward pass"
            )
        if waited:
            raise RuleViolation(
                f"a process waits for its turn or for the others between two of its batches, "
                f"before it runs {waited}{_first_named(sources, (*_WAITS, *_LOCKS))}; in Hogwild "
                "no process waits for another from its first batch to its last"
            )
        _assert_seen(outcome.num_processes_at_once, num_arrived, "met in the middle of a step")


def _batches(case: Hogwild, outcome: Outcome) -> list[Rows]:
    batches = trained_batches(case, outcome, 0)
    if not batches:
        raise WrongAnswer(
            "no process computed a gradient of the model that hogwild was given; it trains "
            "`model`, with model(inputs), a loss and backward()"
        )
    writes = {name: len(outcome[name][0]) for name in _FOR_EACH_WRITE}
    if len(set(writes.values())) > 1:
        numbers = ", ".join(f"{number} {name}" for name, number in writes.items())
        raise WrongAnswer(
            f"what is told of the writes into the parameters does not fit together: {numbers}; "
            "expected one of each for every write"
        )
    return batches


def _batches_by_process(case: Hogwild, outcome: Outcome) -> list[list[Rows]]:
    (processes,) = outcome["processes"]
    batches = _batches(case, outcome)
    numbers = sorted(set(processes.tolist()))
    _assert_seen(outcome.num_processes, len(numbers), "computed gradients")
    return [
        [batch for batch, process in zip(batches, processes, strict=True) if process == number]
        for number in numbers
    ]


def _assert_seen(seen: int | None, said: int, what: str) -> None:
    """Assert that no more processes are said to have been there than were seen.

    The record of a training is what its processes write. Seen is each that trains, before it goes
    on: on a busy machine all wait a little longer. None where nobody looks, as in open mode.
    """
    if seen is not None and seen < said:
        raise NotProven(
            f"{_counted(said, 'process is', 'processes are')} said to have {what}, but only "
            f"{_counted(seen, 'process', 'processes')} showed up; a person should look"
        )


def _first_named(sources: Mapping[str, str], wanted: Sequence[str]) -> str:
    """Return where the files first name one of these, as a remark; empty if they name none."""
    found = (each for each in names(sources) if each.name in wanted)
    return next((f" ({each.file}:{each.line} names {each.name})" for each in found), "")


def _counted(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"
