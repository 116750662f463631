"""Whether what ranks or processes were trained on are parts of the dataset, batch by batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grader.api import Finding, WrongAnswer, counted, found

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
        text = f"{who.capitalize()} trained {_times(number)} on example {example}; "
        text += f"expected {_times(case.epochs)}, once per epoch."
        raise WrongAnswer.of("data.not_once_an_epoch", text, who=who, example=example, times=number)
    for number, epoch in enumerate(np.split(rows, case.epochs)):
        if len(np.unique(epoch)) < len(epoch):
            text = f"In epoch {number}, {who} used one example twice and left another out."
            helps = "an epoch must use every example of the part once"
            raise WrongAnswer.of(
                "data.epoch_repeats_example", text, help=helps, who=who, epoch=number
            )
    return np.asarray(part)


def assert_batch_sizes(case: Training, who: str, batches: Sequence[Rows], part_size: int) -> None:
    """Assert that batches have batch_size examples, the last of an epoch what is left.

    Raises WrongAnswer with the first batch that has another size.
    """
    full, rest = divmod(part_size, case.batch_size)
    expected = ([case.batch_size] * full + [rest] * (rest > 0)) * case.epochs
    sizes = [len(batch) for batch in batches]
    if sizes == expected:
        return
    text = f"{who.capitalize()} trained on {_batches(len(sizes))}; expected {len(expected)}."
    facts: dict[str, Any] = {"num_batches": len(sizes), "expected": len(expected)}
    for batch, (size, wanted) in enumerate(zip(sizes, expected, strict=False)):
        if size != wanted:
            text = f"Batch {batch} of {who} has size {size}; expected {wanted}."
            facts = {"batch": batch, "size": size, "expected": wanted}
            break
    helps = f"{part_size} examples in batches of {case.batch_size} make {_batches(len(expected))}"
    helps += f" in {case.epochs} epoch{'s' * (case.epochs != 1)}"
    raise WrongAnswer.of("data.batch_sizes", text, help=helps, who=who, **facts)


def assert_disjoint(parts: Mapping[str, Rows]) -> None:
    """Assert that no example belongs to two parts, and that no part is empty.

    parts: by the words for whom they belong to. Raises WrongAnswer with an example.
    """
    owners: dict[int, str] = {}
    for who, part in parts.items():
        own = np.unique(part).tolist()
        if not own:
            text = f"{who.capitalize()} trained on no examples."
            helps = f"each {who.split()[0]} must have its own part of the data"
            raise WrongAnswer.of("data.empty_part", text, help=helps, who=who)
        shared = [row for row in own if row in owners]
        if shared:
            example, number, other = shared[0], len(shared), owners[shared[0]]
            text = f"{other.capitalize()} and {who} both trained on example {example}. "
            kind, helps = who.split()[0], "compare how the parts are chosen: they must be disjoint"
            text += f"Of {who}'s {len(own)} examples, {number} also belonged to another {kind}."
            facts: dict[str, Any] = {"owners": (other, who), "example": example, "number": number}
            raise WrongAnswer.of("data.parts_overlap", text, help=helps, **facts)
        owners.update(dict.fromkeys(own, who))


def assert_none_left_out(case: Training, parts: Mapping[str, Rows]) -> None:
    """Assert that parts together hold every example. Raises WrongAnswer with one that is not."""
    held = np.unique(np.concatenate([np.zeros(0, np.int64), *parts.values()]))
    missing = sorted(set(range(case.num_examples)) - set(held.tolist()))
    if missing:
        number, num_examples, example = len(missing), case.num_examples, missing[0]
        text = f"The training left out {number} of {num_examples} examples"
        text += f"{', including' if number > 1 else ':'} example {example}."
        helps = "together, the parts must contain every example of the dataset"
        facts: dict[str, Any] = {"number": number, "num_examples": num_examples, "example": example}
        left_out = found("data.examples_left_out", text, help=helps, **facts)
        raise WrongAnswer(*_remainder(case, len(parts), number), left_out)


def _remainder(case: Training, num_parts: int, num_missing: int) -> list[Finding]:
    """Return that as many are missing as remain when the dataset is divided."""
    if num_missing != case.num_examples % num_parts:
        return []
    text = f"{case.num_examples} examples do not divide evenly into {num_parts} parts; "
    text += "the remainder was left out."
    facts: dict[str, Any] = {"num_examples": case.num_examples, "num_parts": num_parts}
    return [found("data.remainder_left_out", text, **facts)]


def assert_complete(case: Training, batches: Mapping[str, Sequence[Rows]]) -> None:
    """Assert that every example is trained on once an epoch, all parts taken together.

    batches: by the words for whom they belong to. Raises WrongAnswer.
    """
    parts = {who: assert_epochs_of(case, who, own) for who, own in batches.items()}
    for who, own in batches.items():
        assert_batch_sizes(case, who, own, len(parts[who]))
    assert_disjoint(parts)
    assert_none_left_out(case, parts)


def parts_of(batches: Mapping[str, Sequence[Rows]]) -> dict[str, Rows]:
    """Return the examples that each was trained on, however often."""
    return {who: np.concatenate([np.zeros(0, np.int64), *own]) for who, own in batches.items()}


def _batches(number: int) -> str:
    return counted(number, "batch", "batches")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
