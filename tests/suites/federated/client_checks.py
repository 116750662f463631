"""What is asked of the clients of federated averaging: their examples, batches and steps."""

import numpy as np

from grader.api import WrongAnswer, found, ranks_text

from . import lenet
from .rounds import BATCH_SIZE, NUM_ROUNDS, RIGHT, Rounds
from .training_cases import Rows, counted, shared_example, some_text

_SPLIT = "compare the number of parts with the number of clients, and which client gets which part"


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
    together = {rank: np.unique(np.concatenate(trained.batches(rank))) for rank in rounds.clients}
    if shared := shared_example(together):
        facts = {"ranks": shared.ranks, "example": shared.example}
        who = ranks_text(shared.ranks).capitalize()
        if shared.is_all:
            told = f"{who} both trained on the same part of the data."
            raise WrongAnswer(found("split.same_part", told, help=_SPLIT, **facts))
        told = f"{who} both trained on the same example, number {shared.example}."
        raise WrongAnswer(found("split.shared_example", told, help=_SPLIT, **facts))
    everything = np.arange(trained.case.num_training)
    left_out = np.setdiff1d(everything, np.concatenate(list(together.values())))
    if len(left_out):
        raise WrongAnswer(
            found(
                "split.examples_left_out",
                f"No client trained on {some_text(left_out, len(everything))}.",
                help=_SPLIT,
                number=len(left_out),
            )
        )


def _assert_own(rank: int, epoch: int, rows: Rows, mine: Rows) -> None:
    """Assert that what a client trained on in an epoch is its own part, and all of it."""
    when = f"In epoch {epoch}, rank {rank}"
    left_out = np.setdiff1d(mine, rows)
    if len(left_out):
        raise WrongAnswer(
            found(
                "client.examples_left_out",
                f"{when} did not train on {some_text(left_out, len(mine))} of its part.",
                help="compare the number of parts with the number of clients, and a client's part "
                "with the batches it trains on",
                rank=rank,
                epoch=epoch,
                number=len(left_out),
            )
        )
    others = np.setdiff1d(rows, mine)
    if len(others):
        raise WrongAnswer(
            found(
                "client.foreign_examples",
                f"{when} trained on {counted(len(others), 'example', 'examples')} of another "
                "client's part.",
                help=_SPLIT,
                rank=rank,
                epoch=epoch,
            )
        )


def assert_five_rounds(rounds: Rounds) -> None:
    """Assert that each client goes through its examples 5 times, in batches of 32.

    Raises WrongAnswer with the first client that does not.
    """
    for rank, epochs in rounds.epochs.items():
        batches = rounds.trained.batches(rank)
        if len(epochs) != NUM_ROUNDS:
            raise WrongAnswer(
                found(
                    "rounds.wrong_number",
                    f"Rank {rank} went through its examples "
                    f"{counted(len(epochs), 'time', 'times')}; {NUM_ROUNDS} rounds of 1 epoch are "
                    f"{NUM_ROUNDS} times.",
                    rank=rank,
                    number=len(epochs),
                )
            )
        for epoch in epochs:
            sizes = [len(batches[number]) for number in epoch]
            if max(sizes) > BATCH_SIZE or any(size != BATCH_SIZE for size in sizes[:-1]):
                raise WrongAnswer(
                    found(
                        "client.batch_size",
                        f"Rank {rank} trained on batches of {', '.join(map(str, sizes))} examples; "
                        f"all but the last must have {BATCH_SIZE}.",
                        rank=rank,
                        sizes=sizes,
                    )
                )


def assert_local_sgd(rounds: Rounds) -> None:
    """Assert that clients step by SGD; whether momentum outlives a round is up to them.

    Raises WrongAnswer with the first client and batch that was followed by another step.
    """
    local = rounds.local
    if local in RIGHT:
        return
    wrong = rounds.wrong_transition(RIGHT[0]) or rounds.wrong_transition(RIGHT[1])
    where = f"After batch {wrong[1]}, rank {wrong[0]}" if wrong else "A client"
    asked = f"compare with SGD, learning rate {lenet.LEARNING_RATE}, momentum {lenet.MOMENTUM}"
    if local is None:
        told = f"{where} is not where a step of SGD leads."
        raise WrongAnswer(found("client.other_step", told, help=asked))
    if not local.clears:
        told = f"{where} took a step that still contains the gradient of the batch before."
        cleared = "where are the gradients set to zero?"
        raise WrongAnswer(found("client.gradient_not_cleared", told, help=cleared))
    rate = f"{local.scale * lenet.LEARNING_RATE:.3g}"
    told = f"{where} took a step with learning rate {rate} and momentum {local.momentum:g}."
    raise WrongAnswer(
        found(
            "client.other_rate_or_momentum",
            told,
            help=asked,
            learning_rate=float(rate),
            momentum=local.momentum,
        )
    )
