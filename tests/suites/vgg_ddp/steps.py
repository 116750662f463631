"""What every check asks of a training first: how many steps the ranks took together."""

from grader.api import Case, Outcome, WrongAnswer, ranks_text

from . import serial
from .train_cases import IMAGE, Printing, Training


def told(case: Case, outcome: Outcome) -> str:
    """Return the number of ranks and the case, as the beginning of a message."""
    ranks = "1 rank" if outcome.ranks == 1 else f"{outcome.ranks} ranks"
    return f"{ranks}, {case.label}"


def assert_trained(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that a training was seen on every rank; say what was seen where none was.

    Raises WrongAnswer.
    """
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        if not len(sizes):
            forwards, backwards, steps = outcome["counts"][rank].tolist()
            wanted = "optimizer.step()" if case.extent == "epoch" else "the first backward"
            raise WrongAnswer(
                f"{told(case, outcome)}: on rank {rank} no training was seen up to {wanted}: a "
                f"VGG11 of model.py was given {forwards} batches (outside torch.no_grad()), "
                f"backward ran {backwards} times, an optimizer of torch.optim stepped {steps} "
                "times; an iteration needs all three, in this order"
            )


def num_steps(case: Training, outcome: Outcome) -> int:
    """Return how many steps all ranks took.

    Raises WrongAnswer when none was seen, when ranks took different numbers, when what they
    trained was not the network of model.py, or when what came back of a rank does not fit together.
    """
    assert_trained(case, outcome)
    counts = [len(sizes) for sizes in outcome["batch_sizes"]]
    where = told(case, outcome)
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


def examples_of(case: Training | Printing, outcome: Outcome) -> list[list[int]]:
    """Return the numbers of the examples each rank trained on, in order.

    Raises WrongAnswer where some of a rank's images are not of the training set.
    """
    assert_trained(case, outcome)
    found = [examples.tolist() for examples in outcome["examples"]]
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        if min(sizes.tolist()) < 1 or sum(sizes.tolist()) != len(found[rank]):
            raise WrongAnswer(
                f"{told(case, outcome)}: rank {rank} trains on {len(found[rank])} examples in "
                f"batches of {', '.join(map(str, sizes.tolist()[:3]))}, ...: that does not add up"
            )
    strange = [
        rank
        for rank, examples in enumerate(found)
        if not all(0 <= each < case.num_examples for each in examples)
    ]
    if strange:
        raise WrongAnswer(
            f"{told(case, outcome)}: {ranks_text(strange)}: some images that enter the network "
            "could not be told to be of the training set: they are read from "
            "datasets.CIFAR10(train=True), through a DataLoader or by their number"
        )
    return found


def wrong_factor(case: Training, outcome: Outcome, step: int, rank: int, factor: float) -> str:
    """Return the message for a step with a multiple of the mean."""
    return (
        f"{told(case, outcome)}: in iteration {step}, rank {rank} steps with {factor:.4g} times "
        "the mean over the ranks; the sum is to be divided by the number of ranks, "
        f"{outcome.ranks}, once"
    )


def _assert_fits_together(
    outcome: Outcome, rank: int, steps: int, num_parameters: int, where: str
) -> None:
    sizes = outcome["batch_sizes"][rank].tolist()
    if min(sizes) < 1:
        raise WrongAnswer(f"{where}: rank {rank} trains on a batch of {min(sizes)} examples")
    num_examples = sum(sizes)
    by_step = dict.fromkeys(("local", "used", "parameters"), (steps, num_parameters))
    flags = dict.fromkeys(("through_ddp", "is_wrapped", "in_training", "num_reduced"), (steps,))
    shapes: dict[str, tuple[int, ...]] = {
        "examples": (num_examples,),
        **by_step,
        **flags,
        "images": (num_examples, *IMAGE),
        "given": (steps, 5),
    }
    for name, shape in shapes.items():
        found = outcome[name][rank].shape
        if found != shape:
            raise WrongAnswer(
                f"{where}: rank {rank}: {name} has shape {found}, expected {shape}: "
                f"{steps} steps of {num_parameters} parameters on {num_examples} examples"
            )
