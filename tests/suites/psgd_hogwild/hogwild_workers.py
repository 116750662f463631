"""Which process computed the gradients of which batches, as their record tells."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import NotProven, Outcome, WrongAnswer, counted

from .hogwild_cases import FOR_EACH_WRITE, Hogwild
from .training_cases import Rows, trained_batches


def batches_by_process(case: Hogwild, outcome: Outcome) -> list[list[Rows]]:
    """Return the batches of each process that computed gradients.

    Each process tells grading the gradients that it computes: the kernel tells which one does.
    Raises WrongAnswer where there are none; NotProven when fewer processes have told all of theirs.
    """
    by_process = _batches_by(case, outcome, "processes")
    if outcome.said_by_process is not None:
        (gradients,), (processes,) = outcome["gradients"], outcome["processes"]
        recorded = [
            {digest_of(gradient) for gradient in gradients[processes == number]}
            for number in sorted(set(processes.tolist()))
        ]
        said = [{each[:32] for each in some} for some in outcome.said_by_process]
        seen = sum(any(own <= all_said for own in recorded) for all_said in said)
        assert_seen(seen, len(by_process), "computed gradients")
    return by_process


def assert_seen(seen: int | None, said: int, what: str) -> None:
    """Assert that no more processes are said to have been there than were seen.

    The record of a training is what its processes write. None where nobody looks, as in open mode.
    """
    if seen is not None and seen < said:
        text = f"According to the record, {counted(said, 'process', 'processes')} {what}; "
        text += f"the grader saw {counted(seen, 'process', 'processes')}."
        raise NotProven.of("hogwild.processes_not_seen", text, recorded=said, seen=seen)


def digest_of(gradient: NDArray[np.float32]) -> str:
    """Return what a process says of a gradient: see tell in record.py."""
    return hashlib.sha256(gradient.tobytes()).hexdigest()[:32]


def batches_by_worker(case: Hogwild, outcome: Outcome) -> dict[str, list[Rows]]:
    """Return the batches of each process; or of each thread, if all are in one process."""
    by_worker, name = batches_by_process(case, outcome), "process"
    if len(by_worker) == 1 < case.num_processes:
        by_worker, name = _batches_by(case, outcome, "threads"), "thread"
    return {f"{name} {number}": batches for number, batches in enumerate(by_worker)}


def _batches_by(case: Hogwild, outcome: Outcome, who: str) -> list[list[Rows]]:
    (workers,) = outcome[who]
    batches = all_batches(case, outcome)
    return [
        [batch for batch, worker in zip(batches, workers, strict=True) if worker == number]
        for number in sorted(set(workers.tolist()))
    ]


def all_batches(case: Hogwild, outcome: Outcome) -> list[Rows]:
    """Return the batches of all processes.

    Raises WrongAnswer where there are none, or where the record contradicts itself.
    """
    batches = trained_batches(case, outcome, 0)
    if not batches:
        text = "No process computed a gradient of the given model."
        helps = "hogwild must train `model`: call model(inputs), compute a loss, "
        helps += "and call backward()"
        raise WrongAnswer.of("hogwild.model_not_trained", text, help=helps)
    writes: dict[str, Any] = {name: len(outcome[name][0]) for name in FOR_EACH_WRITE}
    if len(set(writes.values())) > 1:
        numbers = ", ".join(f"{number} {name}" for name, number in writes.items())
        text = f"The record of writes to the parameters is inconsistent: {numbers}."
        raise WrongAnswer.of("record.writes_inconsistent", text, **writes)
    return batches
