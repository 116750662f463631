"""What is asked of the clients of federated averaging: their examples, batches and steps."""

import numpy as np

from grader.api import WrongAnswer, counted, ranks_text

from . import lenet
from .rounds import BATCH_SIZE, NUM_ROUNDS, RIGHT, Rounds
from .training_cases import Rows, shared_example, some_text

_PART = "does data_split get the number of clients, and does each client use all of its part?"
_SPLIT = "are there as many parts as clients, and does each client get a different part?"


def assert_own_examples(rounds: Rounds) -> None:
    """Assert that each client trains on all examples of one part of the split, and no others.

    Raises WrongAnswer with the first client that does not.
    """
    trained = rounds.trained
    for rank in rounds.clients:
        batches = trained.batches(rank)
        client = trained.client_of[next(batch for batch in batches if len(batch))[0]]
        mine = np.flatnonzero(trained.client_of == client)
        for number, epoch in enumerate(rounds.epochs[rank]):
            rows = np.concatenate([batches[batch] for batch in epoch])
            _assert_own(rank, number, rows, mine)
    # Each has all of one client's part and nothing else: what two share is a whole part.
    assert_parts_differ(rounds)
    together = _examples(rounds)
    everything = np.arange(trained.num_training)
    left_out = np.setdiff1d(everything, np.concatenate(list(together.values())))
    if number := len(left_out):
        told = f"The clients left out {some_text(left_out, len(everything))}."
        raise WrongAnswer.of("split.examples_left_out", told, help=_SPLIT, number=number)


def assert_parts_differ(rounds: Rounds) -> None:
    """Assert that no two clients train on the same part. Raises WrongAnswer."""
    shared = shared_example(_examples(rounds))
    if shared and shared.is_all:
        told = f"{ranks_text(shared.ranks).capitalize()} both trained on the same part of the data."
        facts = {"ranks": shared.ranks, "example": shared.example}
        raise WrongAnswer.of("split.same_part", told, help=_SPLIT, **facts)


def assert_half_of_parts(rounds: Rounds) -> None:
    """Assert that each client trains on half of its part or more, that of its first example.

    Raises WrongAnswer.
    """
    client_of = rounds.trained.client_of
    for rank, rows in _examples(rounds).items():
        mine = np.flatnonzero(client_of == client_of[rows[0]]) if len(rows) else rows
        left_out = np.setdiff1d(mine, rows)
        if 2 * len(left_out) > len(mine):
            some = some_text(left_out, len(mine), "examples of its part")
            told = f"{ranks_text([rank]).capitalize()} left out {some}."
            facts = {"rank": rank, "number": len(left_out)}
            raise WrongAnswer.of("split.most_left_out", told, help=_SPLIT, **facts)


def _examples(rounds: Rounds) -> dict[int, Rows]:
    """Return the numbers of the examples that each client trained on, in order."""
    batches = {rank: rounds.trained.batches(rank) for rank in rounds.clients}
    return {rank: np.unique(np.concatenate(own)) for rank, own in batches.items()}


def _assert_own(rank: int, epoch: int, rows: Rows, mine: Rows) -> None:
    """Assert that what a client trained on in an epoch is its own part, and all of it."""
    when = f"In epoch {epoch}, rank {rank}"
    left_out = np.setdiff1d(mine, rows)
    if number := len(left_out):
        some = some_text(left_out, len(mine), "examples of its part")
        facts = {"rank": rank, "epoch": epoch, "number": number}
        text = f"{when} left out {some}."
        raise WrongAnswer.of("client.examples_left_out", text, help=_PART, **facts)
    if number := len(np.setdiff1d(rows, mine)):
        text = f"{when} trained on {counted(number, 'example')} from other clients' parts."
        facts = {"rank": rank, "epoch": epoch, "number": number}
        raise WrongAnswer.of("client.foreign_examples", text, help=_SPLIT, **facts)


def assert_five_rounds(rounds: Rounds) -> None:
    """Assert that each client goes through its examples 5 times, in batches of 32.

    Raises WrongAnswer with the first client that does not.
    """
    for rank, epochs in rounds.epochs.items():
        batches = rounds.trained.batches(rank)
        if (number := len(epochs)) != NUM_ROUNDS:
            trained = f"Rank {rank} went through its examples {counted(number, 'time')}"
            text = f"{trained}; {NUM_ROUNDS} rounds of 1 epoch require {NUM_ROUNDS}."
            raise WrongAnswer.of("rounds.wrong_number", text, rank=rank, number=number)
        for epoch in epochs:
            sizes = [len(batches[number]) for number in epoch]
            if max(sizes) > BATCH_SIZE or any(size != BATCH_SIZE for size in sizes[:-1]):
                text = f"In an epoch, rank {rank}'s batches had {', '.join(map(str, sizes))} "
                text += f"examples; each must have {BATCH_SIZE}, but the last may have fewer."
                raise WrongAnswer.of("client.batch_size", text, rank=rank, sizes=sizes)


def assert_local_sgd(rounds: Rounds) -> None:
    """Assert that clients step by SGD; whether momentum outlives a round is up to them.

    Raises WrongAnswer with the first client and batch that was followed by another step.
    """
    local = rounds.local
    if local in RIGHT:
        return
    wrong = rounds.wrong_transition(RIGHT[0]) or rounds.wrong_transition(RIGHT[1])
    where = f"After batch {wrong[1]}, rank {wrong[0]}" if wrong else "A client"
    facts: dict[str, float] = {"rank": wrong[0], "batch": wrong[1]} if wrong else {}
    asked = (
        f"each client must use SGD with learning rate {lenet.LEARNING_RATE} and momentum "
        f"{lenet.MOMENTUM}"
    )
    if local is None:
        told = f"{where} did not have the model that an SGD step produces."
        raise WrongAnswer.of("client.other_step", told, help=asked, **facts)
    if not local.clears:
        told = f"{where} used the previous batch's gradient again."
        cleared = "where are the gradients set to zero?"
        raise WrongAnswer.of("client.gradient_not_cleared", told, help=cleared, **facts)
    rate = f"{local.scale * lenet.LEARNING_RATE:.3g}"
    told = f"{where} took a step with learning rate {rate} and momentum {local.momentum:g}."
    facts |= {"learning_rate": float(rate), "momentum": local.momentum}
    raise WrongAnswer.of("client.other_rate_or_momentum", told, help=asked, **facts)
