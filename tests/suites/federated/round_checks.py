"""What is asked of the rounds of federated averaging, one question at a time."""

from collections.abc import Sequence

import numpy as np

from grader.api import Finding, WrongAnswer, found, ranks_text

from .differences import difference, fits
from .explaining import Mixture, near
from .rounds import Average, Rounds

_RECEIVE = "does each client receive and load the global model before it begins the round?"
_ROUNDS = "which loop runs the rounds, and what ends it?"
_SET = "does the server set the aggregate as its model, and send that in the next round?"
_START = "what does the sum contain before the first client's model is added?"


def assert_common_starts(rounds: Rounds) -> None:
    """Assert that all clients begin each round with one model.

    Raises WrongAnswer with the first round and client of which that is not so.
    """
    for number in range(rounds.number):
        (first, start), *others = rounds.starts(number).items()
        for rank, other in others:
            if not np.array_equal(start, other):
                text = f"Ranks {first} and {rank} began round {number} with different models."
                reason = found("round.starts_differ", text, help=_RECEIVE, rank=rank, round=number)
                raise WrongAnswer(reason, difference(other, start, ranks=(rank, first)))


def assert_global_model_used(rounds: Rounds) -> None:
    """Assert that clients begin later rounds with models that come from those of others.

    Raises WrongAnswer if each always goes on with its own, or begins anew with its first one, and
    if there is no later round.
    """
    if rounds.trained.has_diverged:
        return
    if rounds.number == 1:
        text = "The clients took part in only 1 round, so none of them used a global model."
        raise WrongAnswer.of("round.only_one", text, help=_ROUNDS)
    later = range(1, rounds.number)
    first = rounds.starts(0)
    goes_on = begins_anew = bool(later)
    for number in later:
        before, ends = rounds.starts(number - 1), rounds.ends(number - 1)
        starts = rounds.starts(number)
        one = next(iter(starts))
        # All may begin with one model that is near to each of theirs, such as the mean.
        differ = any(not np.array_equal(each, starts[one]) for each in starts.values())
        moved = any(not fits(ends[rank], before[rank], before[rank]) for rank in ends)
        for rank, start in starts.items():
            goes_on = goes_on and differ and fits(start, ends[rank], before[rank])
            begins_anew = begins_anew and moved and np.array_equal(start, first[rank])
    if goes_on:
        text = "After each round, every client continued with its own model, not the global model."
        raise WrongAnswer.of("round.global_model_unused", text, help=_RECEIVE)
    if begins_anew:
        text = "In each round, every client began again with its first model."
        raise WrongAnswer.of("round.global_model_unchanged", text, help=_SET)


def assert_means(rounds: Rounds) -> None:
    """Assert that every client's model has a part in each global model, and the parts make 1.

    Raises WrongAnswer with the first round of which that is not so.
    """
    for average in _known(rounds):
        made = _made(average, rounds)
        _assert_all_present(average, made, rounds)
        total = sum(made.shares.values())
        if not near(total, 1.0) or not near(made.others[0], 0.0):
            told = (
                f"is a sum of the clients' models with weights that add up to {total:.3g}, not to 1"
            )
            reason = _told("global.weights_not_1", average, told)
            kept = 1 - total + made.others[0]
            if near(total, 1.0) and not near(kept, 0.0):
                told = f"is a mean of the clients' models plus {kept:.3g} x the previous model"
                reason = _told("global.model_before_added", average, told, help=_START)
                raise WrongAnswer(reason, _differs(average))
            raise WrongAnswer(reason, _weights(made, rounds), _differs(average))
        if names := made.misfits:
            told = f"is a mean of the clients' models, except for {', '.join(names)}"
            key, entries = "global.parameters_not_averaged", "which entries does the code average?"
            reason = _told(key, average, told, help=entries, parameters=names)
            raise WrongAnswer(reason, _differs(average))


def assert_weights(rounds: Rounds) -> None:
    """Assert that the clients' parts in each global model are as their numbers of examples.

    Raises WrongAnswer with the first round of which that is not so.
    """
    examples = sum(rounds.num_examples.values())
    for average in _known(rounds):
        made = _made(average, rounds)
        total = sum(made.shares.values())
        if abs(total) >= 0.1 and all(
            near(share / total, rounds.num_examples[rank] / examples)
            for rank, share in made.shares.items()
        ):
            continue
        _assert_all_present(average, made, rounds)
        told = "combines the clients' models with the wrong weights"
        reason = _told("global.wrong_weights", average, told, weights=_rounded(made))
        if made.is_even:
            told = "is the unweighted mean of the clients' models"
            reason = _told("global.unweighted", average, told)
        raise WrongAnswer(reason, _weights(made, rounds), _differs(average))


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
        text = "Rank 0's global variable `model` is not the global model of the last round."
        helps = "which network gets the last result of aggregate(...)?"
        raise WrongAnswer.of("global.not_kept", text, help=helps)


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


def assert_several_in_global_models(rounds: Rounds) -> None:
    """Assert that not only one of several clients is in the global models. Raises WrongAnswer."""
    used = frozenset[int]() if rounds.trained.has_diverged else ranks_in_global_models(rounds)
    if len(used) == 1 < len(rounds.clients):
        (rank,) = used
        text = f"No global model includes another client than rank {rank}."
        helps = "does the loop over the clients add to the sum, or overwrite it?"
        raise WrongAnswer.of("global.one_client", text, help=helps, rank=rank)


def _known(rounds: Rounds) -> Sequence[Average]:
    if not rounds.averages:
        rounds.trained.model(0)
        raise WrongAnswer.of("global.none_seen", "No global model was found in this run.")
    return rounds.averages


def _made(average: Average, rounds: Rounds) -> Mixture:
    if average.made_of is None:
        reason = _told("global.not_a_mean", average, "is not a mean of the clients' models")
        for rank, start in rounds.starts(average.number).items():
            if fits(average.after, start, average.before):
                told = f"is the model that rank {rank} started with"
                reason = _told("global.is_a_start", average, told, rank=rank)
        raise WrongAnswer(reason, _differs(average))
    return average.made_of


def _assert_all_present(average: Average, made: Mixture, rounds: Rounds) -> None:
    missing = set(rounds.clients) - made.present
    if not made.present:
        helps = "where does the result of aggregate(...) go, and which model does the server send?"
        told = "is unchanged since the start of the round"
        reason = _told("global.unchanged", average, told, help=helps)
        raise WrongAnswer(reason, _differs(average))
    if missing:
        told = f"includes nothing from {ranks_text(missing)}"
        reason = _told("global.client_missing", average, told, missing=missing)
        raise WrongAnswer(reason, _weights(made, rounds), _differs(average))


def _told(key: str, average: Average, told: str, help: str = "", **facts: object) -> Finding:
    text = f"After round {average.number}, the global model {told}."
    return found(key, text, help=help, round=average.number, **facts)


def _differs(average: Average) -> Finding:
    return difference(average.after, average.expected)


def _weights(made: Mixture, rounds: Rounds) -> Finding:
    sizes = rounds.num_examples
    weights = ", ".join(f"{weight:.3f}" for weight in _rounded(made))
    wanted = ", ".join(f"{number / sum(sizes.values()):.3f}" for number in sizes.values())
    return found(
        "global.weights",
        f"The mean has the weights {weights}; for clients with "
        f"{', '.join(map(str, sizes.values()))} examples, they must "
        f"be {wanted}.",
        weights=_rounded(made),
    )


def _rounded(made: Mixture) -> list[float]:
    return [round(share, 3) + 0.0 for share in made.shares.values()]  # never -0.0
