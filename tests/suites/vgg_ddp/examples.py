"""Which examples each rank trained on."""

from collections import Counter

from grader.api import Outcome, WrongAnswer, ranks_text

from .steps import examples_of, told
from .train_cases import BATCH_SIZE, Printing, Training

_SAMPLER = "a DistributedSampler with the right num_replicas and rank sees to that"


def assert_shared_out(case: Training, outcome: Outcome) -> None:
    """Assert that what the ranks have trained on so far, at most an epoch, has no example twice.

    Raises WrongAnswer.
    """
    trained_by: dict[int, list[int]] = {}
    for rank, examples in enumerate(examples_of(case, outcome)):
        for example in examples:
            trained_by.setdefault(example, []).append(rank)
    for example, ranks in sorted(trained_by.items()):
        if len(ranks) > 1:
            whom = sorted(set(ranks))
            verb = "train" if len(whom) > 1 else "trains"
            raise WrongAnswer(
                f"{told(case, outcome)}: {ranks_text(whom)} {verb} on example {example}, "
                f"{len(ranks)} times in one epoch; all ranks together train on each example once: "
                + _SAMPLER
            )


def assert_one_epoch(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that a whole program trains on every example once. Raises WrongAnswer."""
    where = told(case, outcome)
    times = Counter(each for examples in examples_of(case, outcome) for each in examples)
    most = max(times.values())
    if len(times) == case.num_examples and set(times.values()) == {most} and most > 1:
        raise WrongAnswer(
            f"{where}: every example is trained on {most} times, as in {most} epochs; this "
            "training is one epoch"
        )
    missing = [each for each in range(case.num_examples) if each not in times]
    if missing:
        is_rest = len(missing) == case.num_examples % BATCH_SIZE
        hint = (
            ": the last, smaller batch counts as well (is drop_last=True set?)" if is_rest else ""
        )
        raise WrongAnswer(
            f"{where}: of {case.num_examples} examples {len(missing)} are left out, such as "
            f"example {missing[0]}{hint}"
        )
    twice = next((each for each, count in sorted(times.items()) if count > 1), None)
    if twice is not None:
        raise WrongAnswer(
            f"{where}: example {twice} is trained on {times[twice]} times; this training is one "
            "epoch, with every example once"
        )


def assert_batch_sizes(case: Training, outcome: Outcome) -> None:
    """Assert that the ranks' batches have 256 examples in all, but for the last of an epoch.

    Raises WrongAnswer.
    """
    examples_of(case, outcome)
    wanted, share = BATCH_SIZE // outcome.ranks, case.num_examples // outcome.ranks
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        trained = 0
        for size in sizes.tolist():
            trained += size
            is_last = trained % share == 0
            if size != wanted and not (is_last and size < wanted):
                in_all = f"{BATCH_SIZE} in all make {wanted} for each of {outcome.ranks}"
                raise WrongAnswer(
                    f"{told(case, outcome)}: rank {rank} trains on batches of {size} examples; "
                    + (in_all if outcome.ranks > 1 else f"expected {BATCH_SIZE}")
                )
