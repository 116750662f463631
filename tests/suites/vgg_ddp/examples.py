"""Which examples each rank trained on."""

from collections import Counter
from typing import Any

from grader.api import Outcome, WrongAnswer, ranks_text

from .steps import examples_of
from .train_cases import BATCH_SIZE, Printing, Training

_SAMPLER = (
    "check how each rank picks its examples, including the num_replicas and rank "
    "of its DistributedSampler"
)


def assert_shared_out(case: Training, outcome: Outcome) -> None:
    """Assert that what the ranks have trained on so far, at most an epoch, has no example twice.

    Raises WrongAnswer.
    """
    trained_by: dict[int, list[int]] = {}
    for rank, examples in enumerate(examples_of(case, outcome)):
        for example in examples:
            trained_by.setdefault(example, []).append(rank)
    repeated = {example: ranks for example, ranks in trained_by.items() if len(ranks) > 1}
    if not repeated:
        return
    example = min(repeated)
    times, ranks = len(repeated[example]), sorted(set(repeated[example]))
    facts: dict[str, Any] = {"example": example, "times": times}
    if outcome.ranks > 1 and all(len(set(each)) == outcome.ranks for each in trained_by.values()):
        text = f"Every rank trained on the same examples, such as example {example}."
        facts["num_ranks"] = outcome.ranks
        raise WrongAnswer.of("examples.same_on_all_ranks", text, help=_SAMPLER, **facts)
    text = f"Example {example} was used {times} times in one epoch, by {ranks_text(ranks)}."
    raise WrongAnswer.of("examples.trained_twice", text, help=_SAMPLER, ranks=ranks, **facts)


def assert_one_epoch(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that a whole program trains on every example once. Raises WrongAnswer."""
    times = Counter(each for examples in examples_of(case, outcome) for each in examples)
    most = max(times.values())
    if len(times) == case.num_examples and set(times.values()) == {most} and most > 1:
        text = f"The program trained for {most} epochs instead of one; "
        text += f"it used every example {most} times."
        raise WrongAnswer.of("epoch.several", text, epochs=most)
    missing = [each for each in range(case.num_examples) if each not in times]
    left_out = f"left out {len(missing)} of {case.num_examples} examples"
    facts: dict[str, Any] = {"missing": len(missing), "examples": case.num_examples}
    if missing and len(missing) == case.num_examples % BATCH_SIZE:
        text = f"The program {left_out}, as many as the last, smaller batch has."
        helps = "is drop_last=True set?"
        raise WrongAnswer.of("epoch.last_batch_left_out", text, help=helps, **facts)
    if missing:
        including = ", including" if len(missing) > 1 else ":"
        text = f"The program {left_out}{including} example {missing[0]}."
        raise WrongAnswer.of("epoch.examples_left_out", text, **facts)
    twice = next((each for each, count in sorted(times.items()) if count > 1), None)
    if twice is not None:
        text = f"Example {twice} was used {times[twice]} times in one epoch."
        raise WrongAnswer.of("epoch.example_repeated", text, example=twice, times=times[twice])


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
                ranks = outcome.ranks
                of_all = f" ({BATCH_SIZE} examples over {ranks} ranks)" if ranks > 1 else ""
                text = f"Rank {rank} trained on a batch of {size} example{'s' * (size != 1)}; "
                text += f"expected {wanted}{of_all}."
                helps = f"{size} is all that the rank has; is its loader's batch size {wanted}?"
                helps = helps if size == share else ""
                raise WrongAnswer.of(
                    "batches.wrong_size", text, help=helps, rank=rank, size=size, expected=wanted
                )
