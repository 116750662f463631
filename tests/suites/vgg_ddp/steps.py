"""What every check asks of a training first: how many steps the ranks took together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grader.api import Finding, Outcome, WrongAnswer, found, ranks_text

from . import serial
from .train_cases import IMAGE, Printing, Training

_IS_SUM = 0.02
"""How far a factor may be from the number of ranks, as part of it, to be that of a sum."""


@contextmanager
def explained(reason: Callable[[int], Finding]) -> Iterator[None]:
    """Put what a difference between arrays means before it.

    reason: of the first rank that differs. Raises WrongAnswer where the body does.
    """
    try:
        yield
    except WrongAnswer as error:
        meaning = reason(error.differences[0].rank)
        raise WrongAnswer.at([meaning, *error.findings], error.differences) from None


def assert_trained(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that a training was seen on every rank; say what was seen where none was.

    Raises WrongAnswer.
    """
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        if not len(sizes):
            is_first = case.extent == "first batch"
            wanted = "the first backward" if is_first else "optimizer.step()"
            text = f"The grader saw no training on rank {rank}: no iteration reached {wanted}."
            helps = "an iteration needs a batch, backward, and a step, in this order"
            raise WrongAnswer(
                found("training.not_seen", text, help=helps, rank=rank, up_to=wanted),
                _seen_instead(*outcome["counts"][rank].tolist()),
            )


def _seen_instead(forwards: int, backwards: int, steps: int) -> Finding:
    return found(
        "training.seen_instead",
        f"Calls seen by the grader: {forwards} to model.py's VGG11 (outside torch.no_grad()), "
        f"{backwards} to backward, and {steps} to a torch.optim optimizer's step().",
        forwards=forwards,
        backwards=backwards,
        steps=steps,
    )


def assert_network(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that every rank trains the network of model.py. Raises WrongAnswer."""
    wanted = serial.num_parameters(case.first_channels)
    for rank, start in enumerate(outcome["start"]):
        if len(start) != wanted:
            text = f"Rank {rank} trained a network with {len(start)} parameters; "
            text += f"VGG11() has {wanted} here."
            helps = "compare the trained network with VGG11() in model.py"
            facts = {"rank": rank, "parameters": len(start), "expected": wanted}
            raise WrongAnswer.of("training.other_network", text, help=helps, **facts)


def num_steps(case: Training | Printing, outcome: Outcome) -> int:
    """Return how many steps all ranks took.

    Raises WrongAnswer when none was seen, when ranks took different numbers, when what they
    trained was not the network of model.py, or when what came back of a rank does not fit together.
    """
    assert_trained(case, outcome)
    counts = [len(sizes) for sizes in outcome["batch_sizes"]]
    if len(set(counts)) > 1:
        other = next(rank for rank, count in enumerate(counts) if count != counts[0])
        text = f"Ranks 0 and {other} took different numbers of steps: "
        text += f"{counts[0]} and {counts[other]}."
        helps = "compare how many batches each rank's data loader has"
        raise WrongAnswer.of("training.unequal_steps", text, help=helps, rank=other, steps=counts)
    assert_network(case, outcome)
    for rank in range(outcome.ranks):
        _assert_fits_together(case, outcome, rank, counts[0])
    return counts[0]


def examples_of(case: Training | Printing, outcome: Outcome) -> list[list[int]]:
    """Return the numbers of the examples each rank trained on, in order.

    Raises WrongAnswer where some of a rank's images are not of the training set.
    """
    assert_trained(case, outcome)
    examples = [each.tolist() for each in outcome["examples"]]
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        number = len(examples[rank])
        text = ""
        if (smallest := min(sizes.tolist())) < 1:
            text = f"Rank {rank}'s record contains a batch of {smallest} examples."
        elif sum(sizes.tolist()) != number:
            few = ", ".join(map(str, sizes.tolist()[:3])) + ", ..." * (len(sizes) > 3)
            text = f"Rank {rank} trained on {number} examples; "
            text += f"its recorded batch sizes ({few}) do not add up to that."
        if text:
            facts = {"rank": rank, "examples": number}
            raise WrongAnswer.of("training.batches_do_not_fit", text, help="", **facts)
    strange = [
        rank
        for rank, each in enumerate(examples)
        if not all(0 <= number < case.num_examples for number in each)
    ]
    if strange:
        text = f"On {ranks_text(strange)}, the network received images that the grader did not "
        text += "recognise as training images."
        helps = "read the images from datasets.CIFAR10(train=True), with a DataLoader or by index"
        raise WrongAnswer.of("training.unknown_images", text, help=helps, ranks=strange)
    return examples


def wrong_factor(outcome: Outcome, step: int, rank: int, factor: float) -> Finding:
    """Return what is to be said of a step with a multiple of the mean."""
    ranks, times = outcome.ranks, float(f"{factor:.4g}")
    stepped = f"In iteration {step}, rank {rank} took its step with"
    facts: dict[str, Any] = {"rank": rank, "iteration": step, "factor": times, "num_ranks": ranks}
    if ranks > 1 and abs(factor / ranks - 1) < _IS_SUM:
        text = f"{stepped} the sum over the {ranks} ranks, which is {times:g} times the mean."
        helps = "where does your code divide the sum by the number of ranks?"
        return found("step.sum_not_divided", text, help=helps, **facts)
    text = f"{stepped} {times:g} times the mean over the ranks."
    helps = f"the sum must be divided once, by the number of ranks, here {ranks}"
    return found("step.wrong_factor", text, help=helps, **facts)


def _assert_fits_together(
    case: Training | Printing, outcome: Outcome, rank: int, steps: int
) -> None:
    sizes = outcome["batch_sizes"][rank].tolist()
    if min(sizes) < 1:
        text = f"Rank {rank} trained on a batch of {min(sizes)} examples."
        raise WrongAnswer.of("training.empty_batch", text, rank=rank)
    num_parameters, num_examples = serial.num_parameters(case.first_channels), sum(sizes)
    by_step = dict.fromkeys(("local", "used", "parameters"), (steps, num_parameters))
    flags = dict.fromkeys(("through_ddp", "is_wrapped", "in_training", "num_reduced"), (steps,))
    shapes: dict[str, tuple[int, ...]] = {
        "examples": (num_examples,),
        **by_step,
        **flags,
        "images": (_num_images(case, outcome, sizes), *IMAGE),
        "given": (steps, 5),
    }
    for name, shape in shapes.items():
        seen = outcome[name][rank].shape
        if seen != shape:
            took = f"{steps} steps of {num_parameters} parameters on {num_examples} examples"
            text = f"Rank {rank} took {took}, but its record of {name} has shape {seen}; "
            text += f"expected {shape}."
            facts = {"rank": rank, "name": name, "shape": seen, "expected": shape}
            raise WrongAnswer.of("training.shapes_do_not_fit", text, **facts)


def _num_images(case: Training | Printing, outcome: Outcome, sizes: list[int]) -> int:
    """Return of how many examples the images are known; sizes: those of all batches."""
    if isinstance(case, Training):
        return sum(sizes)
    drawn = outcome.inputs[0]["drawn_step"]
    return sum(sizes[drawn : drawn + 1])
