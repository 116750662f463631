"""Whether the ranks that compute share out the batches: sizes, no example twice, none left out."""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.api import Finding, WrongAnswer, counted, found, ranks_text

from .training_cases import Rows, Shared, Trained, shared_example, some_text

NUM_EPOCHS = 3
BATCH_SIZE = 100

_COMPARE = "check which batch each rank draws, and where its slice begins and ends"


def assert_slice_sizes(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that every gradient of the ranks in `computing` is one of their share of a batch.

    Raises WrongAnswer with the first rank and step where it is otherwise.
    """
    share = BATCH_SIZE // len(computing)
    for rank in computing:
        for step, batch in enumerate(trained.batches(rank)):
            if len(batch) != share:
                raise WrongAnswer(*_size_reasons(len(batch), trained, computing, rank, step))


def _size_reasons(
    size: int, trained: Trained, computing: Sequence[int], rank: int, step: int
) -> list[Finding]:
    """Return the slip that a slice of a wrong size comes from, if known, and the numbers."""
    number, num_ranks = len(computing), trained.outcome.ranks
    noun = "worker" if computing[0] else "rank"
    when = f"In step {step}, rank {rank}"
    reasons = [
        found(
            "slice.wrong_size",
            f"{when} computed a gradient of {counted(size, 'example')}. Its slice of a "
            f"batch of {BATCH_SIZE} on {counted(number, noun)} must have "
            f"int({BATCH_SIZE} / {number}) = {BATCH_SIZE // number} examples.",
            help=f"compare the number of slices with the number of {noun}s",
            rank=rank,
            step=step,
            num_examples=size,
            expected=BATCH_SIZE // number,
        )
    ]
    if size == BATCH_SIZE:
        told = f"{when} computed the gradient of a whole batch, not of its slice."
        return [found("slice.whole_batch", told, rank=rank), *reasons]
    if number < num_ranks and size == BATCH_SIZE // num_ranks:
        told = f"The batch was cut into {num_ranks} slices, one for each rank, the server included."
        return [found("slice.one_for_the_server", told, num_slices=num_ranks), *reasons]
    return reasons


def assert_whole_batches(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that no example is in two slices of a step, and all are in those of an epoch.

    Raises WrongAnswer with ranks and example.
    """
    steps = slices_of(trained, computing)
    for step, parts in enumerate(steps):
        if shared := shared_example(parts):
            raise WrongAnswer(_shared(step, shared))
    everything = np.arange(trained.num_training)
    per_epoch = len(everything) // BATCH_SIZE
    for epoch in range(len(steps) // per_epoch):
        of_epoch = steps[epoch * per_epoch : (epoch + 1) * per_epoch]
        rows = np.concatenate([rows for parts in of_epoch for rows in parts.values()])
        left_out = np.setdiff1d(everything, rows)
        if number := len(left_out):
            told = f"In epoch {epoch}, the ranks left out {some_text(left_out, len(everything))}."
            facts = {"epoch": epoch, "number": number}
            raise WrongAnswer.of("slice.examples_left_out", told, help=_COMPARE, **facts)


def _shared(step: int, shared: Shared) -> Finding:
    told = f"In step {step}, {ranks_text(shared.ranks)}"
    facts = {"step": step, "ranks": shared.ranks, "example": shared.example}
    if len(shared.ranks) == 1:
        told = f"{told} trained on example {shared.example} twice."
        return found("slice.example_twice", told, help=_COMPARE, **facts)
    if shared.is_all:
        told = f"{told} both trained on the same slice."
        return found("slice.same_on_two_ranks", told, help=_COMPARE, **facts)
    told = f"{told} both trained on example {shared.example}."
    return found("slice.shared_example", told, help=_COMPARE, **facts)


def assert_epochs(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that each rank computed a gradient for each batch of the epochs.

    Raises WrongAnswer with the numbers of the first rank that did not.
    """
    examples = trained.num_training
    asked = NUM_EPOCHS * examples // BATCH_SIZE
    for rank in computing:
        number = len(trained.batches(rank))
        if number != asked:
            epochs = f"{NUM_EPOCHS} epochs of {examples} examples in batches of {BATCH_SIZE}"
            did = f"Rank {rank} trained on {counted(number, 'batch', 'batches')}"
            text = f"{did}; expected {asked}: {epochs}."
            raise WrongAnswer.of(
                "epochs.wrong_number", text, rank=rank, num_batches=number, expected=asked
            )


def assert_only(trained: Trained, computing: Sequence[int]) -> None:
    """Assert that no other rank computed a gradient. Raises WrongAnswer with the first that did."""
    for rank in range(trained.outcome.ranks):
        number = len(trained.batches(rank))
        if rank not in computing and number:
            did = f"Rank {rank}, the server, computed {counted(number, 'gradient')}"
            text = f"{did} itself; it must leave that to its workers."
            raise WrongAnswer.of("server.computes_gradients", text, rank=rank, number=number)


def slices_of(trained: Trained, computing: Sequence[int]) -> list[Mapping[int, Rows]]:
    """Return the rows by rank of each step that all of these ranks took part in.

    Ranks without any batch are left out.
    """
    batches = {rank: own for rank in computing if (own := trained.batches(rank))}
    num_steps = min(map(len, batches.values()), default=0)
    return [{rank: own[step] for rank, own in batches.items()} for step in range(num_steps)]
