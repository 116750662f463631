"""Whether what ranks or processes were trained on are parts of the dataset, batch by batch."""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.api import Finding, WrongAnswer, found

from .training_cases import Rows, Training


def assert_epochs_of(case: Training, who: str, batches: Sequence[Rows]) -> Rows:
    """Assert that batches are `epochs` times the same examples; return which ones, sorted.

    who: the rank or process they belong to. Within an epoch each example comes once, in any order.
    Raises WrongAnswer with what comes how often.
    """
    rows = np.concatenate([np.zeros(0, np.int64), *batches])
    part, times = np.unique(rows, return_counts=True)
    odd = np.flatnonzero(times != case.epochs)
    if len(odd):
        example, number = part[odd[0]], times[odd[0]]
        raise WrongAnswer(
            found(
                "data.not_once_an_epoch",
                f"{who.capitalize()} was trained on example {example} {_times(number)}; expected "
                f"{_times(case.epochs)}, once in every epoch.",
                who=who,
                example=example,
                times=number,
            )
        )
    for number, epoch in enumerate(np.split(rows, case.epochs)):
        if len(np.unique(epoch)) < len(epoch):
            raise WrongAnswer(
                found(
                    "data.epoch_repeats_example",
                    f"Epoch {number} of {who} has one example twice and lacks another.",
                    help="an epoch goes through the whole part once",
                    who=who,
                    epoch=number,
                )
            )
    return np.asarray(part)


def assert_batch_sizes(case: Training, who: str, batches: Sequence[Rows], part_size: int) -> None:
    """Assert that batches have batch_size examples, the last of an epoch what is left.

    Raises WrongAnswer with the first batch that has another size.
    """
    full, rest = divmod(part_size, case.batch_size)
    expected = ([case.batch_size] * full + [rest] * (rest > 0)) * case.epochs
    sizes = [len(batch) for batch in batches]
    if sizes != expected:
        pairs = enumerate(zip(sizes, expected, strict=False))
        at = next((i for i, (size, wanted) in pairs if size != wanted), len(sizes))
        text = f"{who.capitalize()} took {len(sizes)} batches; expected {len(expected)}."
        if at < len(sizes) and at < len(expected):
            text = f"Batch {at} of {who} has {sizes[at]} examples; expected {expected[at]}."
        raise WrongAnswer(
            found(
                "data.batch_sizes",
                text,
                help=f"{part_size} examples in batches of {case.batch_size} make {len(expected)} "
                f"batches in {case.epochs} epochs",
                who=who,
                num_batches=len(sizes),
                expected=len(expected),
                batch=at,
            )
        )


def assert_disjoint(parts: Mapping[str, Rows]) -> None:
    """Assert that no example belongs to two parts, and that no part is empty.

    parts: by the words for whom they belong to. Raises WrongAnswer with an example.
    """
    owners: dict[int, str] = {}
    for who, part in parts.items():
        own = np.unique(part).tolist()
        if not own:
            raise WrongAnswer(
                found(
                    "data.empty_part",
                    f"{who.capitalize()} was trained on nothing.",
                    help=f"each {who.split()[0]} must have its own part of the data",
                    who=who,
                )
            )
        shared = [row for row in own if row in owners]
        if shared:
            other = owners[shared[0]]
            raise WrongAnswer(
                found(
                    "data.parts_overlap",
                    f"{other.capitalize()} and {who} were both trained on example {shared[0]}; "
                    f"{len(shared)} of the {len(own)} examples of {who} belong to others.",
                    help="compare which examples each takes: the parts must be disjoint",
                    owners=(other, who),
                    example=shared[0],
                    number=len(shared),
                )
            )
        owners.update(dict.fromkeys(own, who))


def assert_none_left_out(case: Training, parts: Mapping[str, Rows]) -> None:
    """Assert that parts together hold every example. Raises WrongAnswer with one that is not."""
    held = np.unique(np.concatenate([np.zeros(0, np.int64), *parts.values()]))
    missing = sorted(set(range(case.num_examples)) - set(held.tolist()))
    if missing:
        were = "were" if len(missing) > 1 else "was"
        left_out = found(
            "data.examples_left_out",
            f"{len(missing)} of {case.num_examples} examples {were} never trained on; the first is "
            f"example {missing[0]}.",
            help="count the examples of all parts together: they must be the whole dataset",
            number=len(missing),
            num_examples=case.num_examples,
            example=missing[0],
        )
        raise WrongAnswer(*_remainder(case, len(parts), len(missing)), left_out)


def _remainder(case: Training, num_parts: int, num_missing: int) -> list[Finding]:
    """Return that as many are missing as remain when the dataset is divided."""
    if num_missing != case.num_examples % num_parts:
        return []
    return [
        found(
            "data.remainder_left_out",
            f"{case.num_examples} examples do not divide evenly into {num_parts} parts: the "
            "remainder was left out.",
            num_examples=case.num_examples,
            num_parts=num_parts,
        )
    ]


def assert_complete(case: Training, batches: Mapping[str, Sequence[Rows]]) -> None:
    """Assert that each goes through its part once an epoch, and that no example is left out.

    batches: by the words for whom they belong to. Raises WrongAnswer.
    """
    parts = {who: assert_epochs_of(case, who, own) for who, own in batches.items()}
    for who, own in batches.items():
        assert_batch_sizes(case, who, own, len(parts[who]))
    assert_none_left_out(case, parts)


def parts_of(batches: Mapping[str, Sequence[Rows]]) -> dict[str, Rows]:
    """Return the examples that each was trained on, however often."""
    return {who: np.concatenate([np.zeros(0, np.int64), *own]) for who, own in batches.items()}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
