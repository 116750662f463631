"""What every check asks of a training first: how many steps the ranks took together."""

from grader.judge.findings import WrongAnswer
from grader.model import Outcome

from . import serial
from .train_cases import Training


def told(case: Training, outcome: Outcome) -> str:
    """Return the number of ranks and the case, as the beginning of a message."""
    ranks = "1 rank" if outcome.ranks == 1 else f"{outcome.ranks} ranks"
    return f"{ranks}, {case.label}"


def assert_trained(case: Training, outcome: Outcome) -> None:
    """Assert that all ranks trained, for only work that was done can be timed.

    Raises WrongAnswer.
    """
    num_steps(case, outcome)


def num_steps(case: Training, outcome: Outcome) -> int:
    """Return how many steps all ranks took.

    Raises WrongAnswer when there was none, when ranks took different numbers, or when what they
    trained was not the network of model.py.
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
    return counts[0]
