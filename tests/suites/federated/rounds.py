"""Whether the rounds of federated averaging are those of FedAvg done in one process.

McMahan et al. 2017, algorithm 1 with all clients: w <- sum over k of (n_k / n) w_k. As with steps,
a round is judged from the global model that the clients really began it with.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grader.judge.findings import WrongAnswer
from grader.judge.wording import ranks_text

from . import lenet
from .differences import DEVIATION, difference_text, fits
from .training_cases import Rows, Trained, assert_covered, assert_disjoint, counted

NUM_ROUNDS = 5
BATCH_SIZE = 32


def assert_local_epochs(trained: Trained) -> dict[int, list[list[Rows]]]:
    """Assert that every client trains once a round on each of its examples, in batches of 32.

    Returns the batches by client's rank, round and number. Raises WrongAnswer.
    """
    if trained.batches(0):
        told = counted(len(trained.batches(0)), "gradient", "gradients")
        raise WrongAnswer(f"rank 0 computed {told} itself; the server only averages models")
    rounds: dict[int, list[list[Rows]]] = {}
    for rank, mine in _examples_by_client(trained).items():
        batches = trained.batches(rank)
        assert_covered(
            np.concatenate(batches),
            mine,
            f"rank {rank}",
            "data_split(train, number of clients, ...) cuts the data among the clients, which are "
            "all ranks but the server; a client trains on all of its part",
        )
        per_round = -(-len(mine) // BATCH_SIZE)
        if len(batches) != NUM_ROUNDS * per_round:
            raise WrongAnswer(
                f"rank {rank} trained on {counted(len(batches), 'batch', 'batches')}; with its "
                f"{len(mine)} examples, {NUM_ROUNDS} rounds of 1 epoch in batches of {BATCH_SIZE} "
                f"are {NUM_ROUNDS} x {per_round}"
            )
        rounds[rank] = [
            batches[begin : begin + per_round] for begin in range(0, len(batches), per_round)
        ]
        for number, batch in enumerate(batches):
            if len(batch) > BATCH_SIZE:
                raise WrongAnswer(
                    f"rank {rank}, batch {number} has {len(batch)} examples; the handout says "
                    f"{BATCH_SIZE}"
                )
        for number, of_round in enumerate(rounds[rank]):
            rows = np.concatenate(of_round)
            when = f"round {number}, rank {rank}"
            hint = "a client goes through all of its examples once a round"
            assert_disjoint({rank: rows}, when, hint)
            assert_covered(rows, mine, when, hint)
    together = {rank: np.concatenate(parts[0]) for rank, parts in rounds.items()}
    hint = f"data_split gives each of the {len(rounds)} clients examples of its own"
    assert_disjoint(together, "round 0", hint)
    everything = np.arange(trained.case.num_training)
    assert_covered(np.concatenate(list(together.values())), everything, "round 0", hint)
    return rounds


def assert_rounds(trained: Trained) -> None:
    """Assert that every round ends with the weighted mean of the clients' models, at the server.

    Whether a client's momentum outlives a round is left to the student.
    Raises WrongAnswer at the first round, and rank, that is otherwise.
    """
    rounds = assert_local_epochs(trained)
    first = min(rounds)
    for rank in rounds:
        start, other = trained.seen(first, 0), trained.seen(rank, 0)
        if not np.array_equal(start, other):
            raise WrongAnswer(
                f"round 0: rank {rank} starts with another model than rank {first}: "
                f"{difference_text(other, start)}; all clients start a round with the server's "
                "model"
            )
    # At the weights that were really there, so the same for both kinds of momentum.
    gradients = {
        (rank, number): trained.gradient(trained.seen(rank, number), rows)
        for rank, parts in rounds.items()
        for number, rows in enumerate(batch for of_round in parts for batch in of_round)
    }
    anew = _first_wrong(trained, rounds, gradients, keeps_momentum=False)
    if anew is not None:
        kept = _first_wrong(trained, rounds, gradients, keeps_momentum=True)
        if kept is not None:
            raise WrongAnswer(max(anew, kept, key=lambda wrong: wrong.at).message)


@dataclass(frozen=True)
class _Wrong:
    """The first thing that is wrong with a run; at: its round, and how far in it."""

    at: tuple[int, int]
    message: str


def _first_wrong(
    trained: Trained,
    rounds: Mapping[int, list[list[Rows]]],
    gradients: Mapping[tuple[int, int], lenet.Vector],
    keeps_momentum: bool,
) -> _Wrong | None:
    num_examples = {rank: sum(map(len, parts[0])) for rank, parts in rounds.items()}
    total = sum(num_examples.values())
    optimizers = {rank: lenet.MomentumSGD() for rank in rounds}
    before = trained.seen(min(rounds), 0)
    for number in range(NUM_ROUNDS):
        local = {}
        for rank, parts in rounds.items():
            if not keeps_momentum:
                optimizers[rank] = lenet.MomentumSGD()
            num_batches = len(parts[number])
            for step in range(num_batches):
                batch = number * num_batches + step
                seen = trained.seen(rank, batch)
                if step and not fits(seen, local[rank], trained.seen(rank, batch - 1)):
                    return _Wrong(
                        (number, step),
                        f"round {number}: rank {rank} is not where batch {step - 1} of its local "
                        f"epoch leads: {difference_text(seen, local[rank])}; clients train by SGD "
                        f"with learning rate {lenet.LEARNING_RATE} and momentum {lenet.MOMENTUM}",
                    )
                local[rank] = optimizers[rank].step(seen, gradients[rank, batch])
        weighted = [num_examples[rank] / total * local[rank] for rank in local]
        expected = np.sum(weighted, axis=0)
        is_last = number + 1 == NUM_ROUNDS
        after = {0: trained.model(0)} if is_last else {}
        if not is_last:
            after = {r: trained.seen(r, (number + 1) * len(rounds[r][0])) for r in rounds}
        for rank, found in after.items():
            if not fits(found, expected, before):
                return _Wrong(
                    (number, 1000),
                    f"round {number}: rank {rank} {'ends' if is_last else 'goes on'} with a model "
                    "that is not the weighted mean of the clients' models; "
                    + _reason(rank, before, found, expected, local, num_examples),
                )
        before = after[min(after)]
    return None


def _reason(
    rank: int,
    before: lenet.Vector,
    found: lenet.Vector,
    expected: lenet.Vector,
    local: Mapping[int, lenet.Vector],
    num_examples: Mapping[int, int],
) -> str:
    """Return what the wrong model was made of, as far as its numbers tell."""
    differs = difference_text(found, expected)
    if np.array_equal(found, before):
        return (
            f"it still is the one that the round began with, so the new one did not reach it "
            f"({differs})"
        )
    for client, model in local.items():
        if len(local) > 1 and fits(found, model, before):
            whose = "its own, as trained locally" if client == rank else f"that of rank {client}"
            return f"it is {whose}: nothing was averaged, or it was not sent back ({differs})"
    columns = np.stack(list(local.values()), axis=1)
    weights, *_ = np.linalg.lstsq(columns, found, rcond=None)
    rest = np.linalg.norm(found - columns @ weights)
    way = np.linalg.norm(expected - before)
    if rest < DEVIATION * way:
        total = sum(num_examples.values())
        told = ", ".join(f"{weight:.3f}" for weight in weights)
        wanted = ", ".join(f"{number / total:.3f}" for number in num_examples.values())
        return (
            f"it takes them with the weights {told}; by their numbers of examples "
            f"({', '.join(map(str, num_examples.values()))}) these are {wanted}"
            f"{_hint(dict(zip(local, map(float, weights), strict=True)))} ({differs})"
        )
    got, wanted_arrays, from_arrays = map(lenet.unpacked, (found, expected, before))
    wrong = [
        name for name in lenet.SHAPES if not fits(got[name], wanted_arrays[name], from_arrays[name])
    ]
    if len(wrong) < len(lenet.SHAPES):
        return f"only {', '.join(wrong)} went wrong: {differs}"
    return differs


def _hint(weights: Mapping[int, float]) -> str:
    """Return which slip gives such weights, or nothing."""
    values = list(weights.values())
    missing = [rank for rank, weight in weights.items() if abs(weight) < DEVIATION / len(values)]
    if missing:
        return f": the model of {ranks_text(missing)} is not in it"
    if abs(sum(values) - 1) > DEVIATION:
        return f": they add up to {sum(values):.3g} instead of 1"
    if max(values) - min(values) < DEVIATION:
        return ": an unweighted mean"
    return ""


def _examples_by_client(trained: Trained) -> dict[int, Rows]:
    """Return which examples each rank has, whichever client of the split it chose to be."""
    num_clients = len(trained.case.client_sizes)
    parts = [np.flatnonzero(trained.client_of == client) for client in range(num_clients)]
    owned: dict[int, Rows] = {}
    for rank in range(1, trained.outcome.ranks):
        batches = [batch for batch in trained.batches(rank) if len(batch)]
        if not batches:
            raise WrongAnswer(
                f"rank {rank} trained on nothing; of {trained.outcome.ranks} ranks all but rank 0 "
                "are clients"
            )
        owned[rank] = parts[int(trained.client_of[batches[0][0]])]
    return owned
