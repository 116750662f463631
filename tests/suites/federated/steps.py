"""Whether the steps of data-parallel SGD are those of one process, each judged from the one before.

The start of a step is what the gradients were really computed with, so a message names the first
step that goes wrong, and says by what gradient it went.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.judge.findings import WrongAnswer
from grader.judge.wording import ranks_text

from . import lenet
from .differences import DEVIATION, difference_text, fits, same
from .training_cases import Rows, Trained, assert_covered, assert_disjoint, counted

NUM_EPOCHS = 3
BATCH_SIZE = 100


def assert_shares(trained: Trained, computing: Sequence[int]) -> list[dict[int, Rows]]:
    """Assert that each computing rank took its own share of each batch; return them by rank.

    computing: the ranks that are to compute gradients; all others must not.
    Raises WrongAnswer with the first rank and step where it is otherwise.
    """
    num_training = trained.case.num_training
    num_steps = NUM_EPOCHS * num_training // BATCH_SIZE
    share = BATCH_SIZE // len(computing)
    noun = "worker" if computing[0] else "rank"
    among = counted(len(computing), noun, f"{noun}s")
    for rank in range(trained.outcome.ranks):
        batches = trained.batches(rank)
        if rank not in computing and batches:
            raise WrongAnswer(
                f"rank {rank} computed {counted(len(batches), 'gradient', 'gradients')} itself; "
                "the server leaves that to its workers"
            )
        for step, batch in enumerate(batches[:num_steps]):
            if len(batch) != share:
                raise WrongAnswer(
                    f"rank {rank}, step {step}: it computed a gradient of {len(batch)} examples; "
                    f"its share of a batch of {BATCH_SIZE} on {among} is int({BATCH_SIZE} / "
                    f"{len(computing)}) = {share}"
                )
        if rank in computing and len(batches) != num_steps:
            raise WrongAnswer(
                f"rank {rank} trained on {counted(len(batches), 'batch', 'batches')}; {NUM_EPOCHS} "
                f"epochs of {num_training} examples in batches of {BATCH_SIZE} are {num_steps}"
            )
    steps = [{rank: trained.batches(rank)[step] for rank in computing} for step in range(num_steps)]
    for step, parts in enumerate(steps):
        assert_disjoint(
            parts,
            f"step {step}",
            "each rank takes its own slice of the batch, and all have to draw the same batches: "
            "call set_random_seed(42) on every rank before the data loader is made",
        )
    per_epoch = num_training // BATCH_SIZE
    for epoch in range(NUM_EPOCHS):
        of_epoch = steps[epoch * per_epoch : (epoch + 1) * per_epoch]
        assert_covered(
            np.concatenate([rows for parts in of_epoch for rows in parts.values()]),
            np.arange(num_training),
            f"epoch {epoch}",
            "together, the ranks' slices have to make up the whole batches, which have to be the "
            "same on every rank",
        )
    return steps


def assert_steps(trained: Trained, computing: Sequence[int], holders: Sequence[int]) -> None:
    """Assert that every step is one process's step on the whole batch, on every rank that has it.

    holders: the ranks whose model has to be right at the end.
    Raises WrongAnswer at the first step and rank that is otherwise.
    """
    steps = assert_shares(trained, computing)
    before = trained.seen(computing[0], 0)
    _assert_one_start(trained, computing, before)
    optimizer = lenet.MomentumSGD()
    for step, parts in enumerate(steps):
        gradients = {rank: trained.gradient(before, rows) for rank, rows in parts.items()}
        mean = np.mean(list(gradients.values()), axis=0)
        is_last = step + 1 == len(steps)
        after = {rank: trained.model(rank) for rank in holders} if is_last else {}
        if not is_last:
            after = {rank: trained.seen(rank, step + 1) for rank in computing}
        velocity = optimizer.velocity
        expected = optimizer.step(before, mean)
        for rank, found in after.items():
            if not fits(found, expected, before):
                optimizer.velocity = velocity
                raise WrongAnswer(
                    f"step {step}: rank {rank} {'ends' if is_last else 'goes on'} with a model "
                    "that one process would not have; "
                    + _reason(rank, before, found, expected, gradients, optimizer)
                )
        # From what is really there on: rounding errors are not added up over the steps.
        before = after[min(after)]


def _assert_one_start(trained: Trained, computing: Sequence[int], start: lenet.Vector) -> None:
    for rank in computing[1:]:
        other = trained.seen(rank, 0)
        if not np.array_equal(other, start):
            raise WrongAnswer(
                f"rank {rank} starts with another model than rank {computing[0]}: "
                f"{difference_text(other, start)}; call set_random_seed(42) on every rank before "
                "Net(), or send everybody one model"
            )


def _reason(
    rank: int,
    before: lenet.Vector,
    found: lenet.Vector,
    expected: lenet.Vector,
    gradients: Mapping[int, lenet.Vector],
    optimizer: lenet.MomentumSGD,
) -> str:
    """Return what the wrong model came from, as far as its numbers tell."""
    differs = difference_text(found, expected)
    if np.array_equal(found, before):
        return (
            f"its model is still the one from before the step, so the new one did not reach it "
            f"({differs})"
        )
    used = optimizer.gradient_used(before, found)
    without_momentum = (before - found) / lenet.LEARNING_RATE
    mean = np.mean(list(gradients.values()), axis=0)
    num_ranks = len(gradients)
    if rank in gradients and num_ranks > 1 and same(used, gradients[rank]):
        return f"it steps with its own gradient alone, not with the mean of all ranks ({differs})"
    if same(without_momentum, mean):
        return (
            f"the gradient is right, but the step has no momentum of {lenet.MOMENTUM} ({differs})"
        )
    shares, rest = _shares(used, gradients)
    if rest < DEVIATION:
        told = ", ".join(f"{share:.3g} of rank {each}" for each, share in shares.items())
        return (
            f"its step uses the ranks' mean gradients summed as {told}; the mean takes "
            f"{1 / num_ranks:.3g} of each: {_hint(shares, num_ranks)} ({differs})"
        )
    wrong = [
        name
        for name, (got, wanted) in _by_array(found, expected).items()
        if not fits(got, wanted, lenet.unpacked(before)[name])
    ]
    if len(wrong) < len(lenet.SHAPES):
        return f"only {', '.join(wrong)} went wrong: {differs}"
    return differs


def _shares(
    used: lenet.Vector, gradients: Mapping[int, lenet.Vector]
) -> tuple[dict[int, float], float]:
    """Return how much of each rank's gradient is in `used`, and how much of `used` is left over."""
    columns = np.stack(list(gradients.values()), axis=1)
    shares, *_ = np.linalg.lstsq(columns, used, rcond=None)
    rest = np.linalg.norm(used - columns @ shares) / max(np.linalg.norm(used), 1e-30)
    return dict(zip(gradients, map(float, shares), strict=True)), float(rest)


def _hint(shares: Mapping[int, float], num_ranks: int) -> str:
    """Return which slip gives such shares."""
    slips = {
        1.0: "they are summed and not divided by how many they are of",
        BATCH_SIZE / num_ranks: "multiplied by each rank's number of examples, and not divided by "
        "that of all ranks",
        1 / BATCH_SIZE: "divided by the number of all examples, and not first multiplied by each "
        "rank's own",
        1 / num_ranks**2: "divided by the number of ranks twice",
    }
    for share, words in slips.items():
        if all(abs(each / share - 1) < DEVIATION for each in shares.values()):
            return words
    largest = max(map(abs, shares.values()))
    missing = [rank for rank, share in shares.items() if abs(share) < DEVIATION * largest]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return f"the gradient of {ranks_text(missing)} {verb} not in it"
    return "the weights of the ranks are not equal to their parts of the batch"


def _by_array(
    found: lenet.Vector, expected: lenet.Vector
) -> dict[str, tuple[lenet.Vector, lenet.Vector]]:
    got, wanted = lenet.unpacked(found), lenet.unpacked(expected)
    return {name: (got[name], wanted[name]) for name in lenet.SHAPES}
