"""What is asked of the rounds of federated averaging, one question at a time."""

from collections.abc import Sequence

import numpy as np

from grader.api import WrongAnswer, ranks_text

from . import lenet
from .differences import difference_text, fits
from .explaining import Mixture, near
from .rounds import BATCH_SIZE, NUM_ROUNDS, RIGHT, Average, LocalSGD, Rounds
from .training_cases import assert_covered, assert_disjoint, counted


def assert_own_examples(rounds: Rounds) -> None:
    """Assert that each client trains on all examples of one part of the split, and no others.

    Raises WrongAnswer with the first client that does not.
    """
    trained = rounds.trained
    split = (
        "data_split(train, number of clients, ...) cuts the data among the clients, which are all "
        "ranks but the server; a client trains on all of its part"
    )
    for rank in rounds.clients:
        batches = trained.batches(rank)
        client = trained.client_of[next(batch for batch in batches if len(batch))[0]]
        mine = np.flatnonzero(trained.client_of == client)
        for number, epoch in enumerate(rounds.epochs[rank]):
            rows = np.concatenate([batches[batch] for batch in epoch])
            assert_covered(rows, mine, f"rank {rank}, epoch {number}", split)
            others = np.setdiff1d(rows, mine)
            if len(others):
                raise WrongAnswer(
                    f"rank {rank}, epoch {number}: {len(others)} of its examples are of another "
                    f"client's part; {split}"
                )
    together = {rank: np.unique(np.concatenate(trained.batches(rank))) for rank in rounds.clients}
    hint = f"data_split gives each of the {len(together)} clients examples of its own"
    assert_disjoint(together, "in all", hint)
    everything = np.arange(trained.case.num_training)
    assert_covered(np.concatenate(list(together.values())), everything, "in all", hint)


def assert_five_rounds(rounds: Rounds) -> None:
    """Assert that each client goes through its examples 5 times, in batches of 32.

    Raises WrongAnswer with the first client that does not.
    """
    for rank, epochs in rounds.epochs.items():
        batches = rounds.trained.batches(rank)
        if len(epochs) != NUM_ROUNDS:
            raise WrongAnswer(
                f"rank {rank} went through its examples {counted(len(epochs), 'time', 'times')}; "
                f"{NUM_ROUNDS} rounds of 1 epoch are {NUM_ROUNDS} times"
            )
        for epoch in epochs:
            sizes = [len(batches[number]) for number in epoch]
            if max(sizes) > BATCH_SIZE or any(size != BATCH_SIZE for size in sizes[:-1]):
                raise WrongAnswer(
                    f"rank {rank} trained on batches of {', '.join(map(str, sizes))} examples; the "
                    f"handout says {BATCH_SIZE}, and what is left in the last one"
                )


def assert_local_sgd(rounds: Rounds) -> None:
    """Assert that clients step by SGD; whether momentum outlives a round is up to them.

    Raises WrongAnswer with the first client and batch that was followed by another step.
    """
    local = rounds.local
    if local in RIGHT:
        return
    use = f"clients train by SGD with learning rate {lenet.LEARNING_RATE} and momentum "
    use += f"{lenet.MOMENTUM}"
    wrong = rounds.wrong_transition(RIGHT[0]) or rounds.wrong_transition(RIGHT[1])
    where = f"rank {wrong[0]}, after batch {wrong[1]}: " if wrong else ""
    raise WrongAnswer(f"{where}{_told_local(local)}; {use}")


def assert_common_starts(rounds: Rounds) -> None:
    """Assert that all clients begin each round with one model.

    Raises WrongAnswer with the first round and client of which that is not so.
    """
    for number in range(rounds.number):
        (first, start), *others = rounds.starts(number).items()
        for rank, other in others:
            if not np.array_equal(start, other):
                raise WrongAnswer(
                    f"round {number}: rank {rank} starts with another model than rank {first}: "
                    f"{difference_text(other, start)}; every client begins each round with the "
                    "global model: receive it from the server and load it"
                )


def assert_means(rounds: Rounds) -> None:
    """Assert that every client's model has a part in each global model, and the parts make 1.

    Raises WrongAnswer with the first round of which that is not so.
    """
    for average in _known(rounds):
        made = _made(average, rounds)
        missing = set(rounds.clients) - made.present
        if made.present and missing:
            raise WrongAnswer(
                f"{_takes(average, made, rounds)}: the model of {ranks_text(missing)} is not in it"
            )
        if not made.present:
            raise WrongAnswer(
                f"round {average.number}: the global model is still the one that the round began "
                "with: set the aggregated parameters, and send the new model back "
                f"({_differs(average)})"
            )
        total = sum(made.shares.values())
        if not near(total, 1.0) or not near(made.others[0], 0.0):
            raise WrongAnswer(
                f"{_takes(average, made, rounds)}: they add up to {total:.3g} instead of 1"
            )
        if made.misfits:
            raise WrongAnswer(
                f"round {average.number}: only {', '.join(made.misfits)} went wrong: "
                f"{_differs(average)}; average every entry of the state dicts"
            )


def assert_weights(rounds: Rounds) -> None:
    """Assert that the clients' parts in each global model are as their numbers of examples.

    Raises WrongAnswer with the first round of which that is not so.
    """
    examples = sum(rounds.num_examples.values())
    for average in _known(rounds):
        made = _made(average, rounds)
        total = sum(made.shares.values())
        for rank, share in made.shares.items():
            if abs(total) < 0.1 or not near(share / total, rounds.num_examples[rank] / examples):
                even = ": an unweighted mean" if made.is_even and made.present else ""
                raise WrongAnswer(f"{_takes(average, made, rounds)}{even} ({_differs(average)})")


def assert_equal_weights(rounds: Rounds) -> None:
    """Assert both of the above, for clients with equally many examples. Raises WrongAnswer."""
    assert_means(rounds)
    assert_weights(rounds)


def assert_model_kept(rounds: Rounds) -> None:
    """Assert that `model` on rank 0 is the last global model. Raises WrongAnswer."""
    if rounds.trained.has_diverged and not np.isfinite(rounds.trained.model_found(0)).all():
        return  # what made it grow beyond all bounds is asked about elsewhere
    rounds.trained.model(0)
    if rounds.has_other_model:
        raise WrongAnswer(
            "rank 0: `model` is not the global model of the last round, though the rounds before "
            "it were right; keep it in the global variable `model`"
        )


def ranks_in_global_models(rounds: Rounds) -> frozenset[int]:
    """Return the clients whose models are in a global one.

    All of them where it is no sum of them, and yet all go on with one that is none of theirs.
    """
    used: set[int] = set()
    for average in rounds.averages:
        if average.made_of is not None:
            used |= average.made_of.present
        elif not average.is_last and len(rounds.clients) > 1:
            used |= set(rounds.clients)
    return frozenset(used)


def _known(rounds: Rounds) -> Sequence[Average]:
    if not rounds.averages:
        rounds.trained.model(0)
        raise WrongAnswer("no global model can be seen")
    return rounds.averages


def _made(average: Average, rounds: Rounds) -> Mixture:
    if average.made_of is None:
        told = "the global model is not a mean of the clients' models"
        for rank, start in rounds.starts(average.number).items():
            if fits(average.after, start, average.before):
                told = f"the global model is the one rank {rank} began the round with"
        raise WrongAnswer(f"round {average.number}: {told}: {_differs(average)}")
    return average.made_of


def _differs(average: Average) -> str:
    return difference_text(average.after, average.expected)


def _takes(average: Average, made: Mixture, rounds: Rounds) -> str:
    sizes = rounds.num_examples
    told = ", ".join(f"{share:.3f}" for share in made.shares.values())
    wanted = ", ".join(f"{number / sum(sizes.values()):.3f}" for number in sizes.values())
    return (
        f"round {average.number}: the global model takes the clients' models with the weights "
        f"{told}; by their numbers of examples ({', '.join(map(str, sizes.values()))}) these are "
        f"{wanted}"
    )


def _told_local(local: LocalSGD | None) -> str:
    if local is None:
        return "the client is not where its batch leads"
    if not local.clears:
        return "the step still contains the last one's gradient: call zero_grad() first"
    rate = f"a learning rate of {local.scale * lenet.LEARNING_RATE:.3g}"
    return f"its steps have {rate} and a momentum of {local.momentum:g}"
