"""What every check asks of a training first: how many steps the ranks took together."""

from grader.judge.findings import WrongAnswer
from grader.model import Outcome

from . import serial
from .train_cases import IMAGE, Training


def told(case: Training, outcome: Outcome) -> str:
    """Return the number of ranks and the case, as the beginning of a message."""
    ranks = "1 rank" if outcome.ranks == 1 else f"{outcome.ranks} ranks"
    return f"{ranks}, {case.label}"


def num_steps(case: Training, outcome: Outcome) -> int:
    """Return how many steps all ranks took.

    Raises WrongAnswer when there was none, when ranks took different numbers, when what they
    trained was not the network of model.py, or when what came back of a rank does not fit together.
    """
    counts = [len(sizes) for sizes in outcome["batch_sizes"]]
    where = told(case, outcome)
    if 0 in counts:
        raise WrongAnswer(
            f"{where}: rank {counts.index(0)} never trained: no optimizer.step() came after a call "
            "of a VGG11 of model.py"
        )
    if len(set(counts)) > 1:
        other = next(rank for rank, count in enumerate(counts) if count != counts[0])
        raise WrongAnswer(
            f"{where}: rank 0 takes {counts[0]} steps and rank {other} takes {counts[other]}"
        )
    wanted = serial.num_parameters(case.first_channels)
    for rank, start in enumerate(outcome["start"]):
        if len(start) != wanted:
            raise WrongAnswer(
                f"{where}: rank {rank} trains {len(start)} parameters; VGG11() has {wanted} here"
            )
    for rank in range(outcome.ranks):
        _assert_fits_together(outcome, rank, counts[0], wanted, where)
    return counts[0]


def _assert_fits_together(
    outcome: Outcome, rank: int, steps: int, num_parameters: int, where: str
) -> None:
    sizes = outcome["batch_sizes"][rank].tolist()
    if min(sizes) < 1:
        raise WrongAnswer(f"{where}: rank {rank} trains on a batch of {min(sizes)} examples")
    num_examples = sum(sizes)
    by_example = dict.fromkeys(("labels", "examples"), (num_examples,))
    by_step = dict.fromkeys(("local", "used", "parameters"), (steps, num_parameters))
    shapes = {**by_example, **by_step, "images": (num_examples, *IMAGE), "through_ddp": (steps,)}
    for name, shape in shapes.items():
        found = outcome[name][rank].shape
        if found != shape:
            raise WrongAnswer(
                f"{where}: rank {rank}: {name} has shape {found}, expected {shape}: "
                f"{steps} steps of {num_parameters} parameters on {num_examples} examples"
            )
