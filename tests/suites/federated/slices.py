"""Whether the ranks that compute share out the batches: sizes, no example twice, none left out."""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.api import WrongAnswer

from .training_cases import Rows, Trained, assert_covered, assert_disjoint, counted

NUM_EPOCHS = 3
BATCH_SIZE = 100

_ONE_ORDER = (
    "each rank takes its own slice of the batch, and all have to draw the same batches: call "
    "set_random_seed(42) on every rank before the data loader is made"
)


def assert_slice_sizes(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that every gradient of the ranks in `computing` is one of their share of a batch.

    Raises WrongAnswer with the first rank and step where it is otherwise.
    """
    share = BATCH_SIZE // len(computing)
    noun = "worker" if computing[0] else "rank"
    among = counted(len(computing), noun, f"{noun}s")
    for rank in computing:
        for step, batch in enumerate(trained.batches(rank)):
            if len(batch) != share:
                raise WrongAnswer(
                    f"rank {rank}, step {step}: it computed a gradient of {len(batch)} examples; "
                    f"its share of a batch of {BATCH_SIZE} on {among} is int({BATCH_SIZE} / "
                    f"{len(computing)}) = {share}"
                )


def assert_whole_batches(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that no example is in two slices of a step, and all are in those of an epoch.

    Raises WrongAnswer with ranks and example.
    """
    steps = slices_of(trained, computing)
    for step, parts in enumerate(steps):
        assert_disjoint(parts, f"step {step}", _ONE_ORDER)
    per_epoch = trained.case.num_training // BATCH_SIZE
    for epoch in range(len(steps) // per_epoch):
        of_epoch = steps[epoch * per_epoch : (epoch + 1) * per_epoch]
        assert_covered(
            np.concatenate([rows for parts in of_epoch for rows in parts.values()]),
            np.arange(trained.case.num_training),
            f"epoch {epoch}",
            "together, the ranks' slices have to make up the whole batches, which have to be the "
            "same on every rank",
        )


def assert_epochs(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that each rank computed a gradient for each batch of the epochs.

    Raises WrongAnswer with the numbers of the first rank that did not.
    """
    num_training = trained.case.num_training
    num_steps = NUM_EPOCHS * num_training // BATCH_SIZE
    for rank in computing:
        found = len(trained.batches(rank))
        if found != num_steps:
            raise WrongAnswer(
                f"rank {rank} trained on {counted(found, 'batch', 'batches')}; {NUM_EPOCHS} "
                f"epochs of {num_training} examples in batches of {BATCH_SIZE} are {num_steps}"
            )


def assert_only(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that no other rank computed a gradient. Raises WrongAnswer with the first that did."""
    for rank in range(trained.outcome.ranks):
        found = len(trained.batches(rank))
        if rank not in computing and found:
            raise WrongAnswer(
                f"rank {rank} computed {counted(found, 'gradient', 'gradients')} itself; "
                "the server leaves that to its workers"
            )


def slices_of(trained: Trained, computing: Sequence[int]) -> list[Mapping[int, Rows]]:
    """Return the rows by rank of each step that all of these ranks took part in."""
    batches = {rank: trained.batches(rank) for rank in computing}
    num_steps = min(map(len, batches.values()))
    return [{rank: own[step] for rank, own in batches.items()} for step in range(num_steps)]
