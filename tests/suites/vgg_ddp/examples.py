"""Which examples each rank trained on."""

from grader.judge.findings import WrongAnswer
from grader.judge.wording import ranks_text
from grader.model import Outcome

from .steps import num_steps, told
from .train_cases import BATCH_SIZE, Training


def assert_examples_shared_out(case: Training, outcome: Outcome) -> None:
    """Assert that the ranks train on each example once, in batches of 256 over all ranks.

    Raises WrongAnswer.
    """
    num_steps(case, outcome)
    trained_by: dict[int, list[int]] = {}
    for rank, examples in enumerate(outcome["examples"]):
        for example in examples.tolist():
            trained_by.setdefault(example, []).append(rank)
    for example, ranks in sorted(trained_by.items()):
        if len(ranks) > 1:
            whom = ranks_text(sorted(set(ranks)))
            verb = "trains" if len(set(ranks)) == 1 else "train"
            raise WrongAnswer(
                f"{told(case, outcome)}: {whom} {verb} on example {example}, {len(ranks)} times in "
                "all; all ranks together are to train on each example once, which a "
                "DistributedSampler with the right num_replicas and rank sees to"
            )
    missing = set(range(case.num_examples)) - set(trained_by)
    if missing:
        raise WrongAnswer(
            f"{told(case, outcome)}: no rank trains on example {min(missing)}; of "
            f"{case.num_examples} examples {len(missing)} are left out"
        )
    wanted = BATCH_SIZE // outcome.ranks
    for rank, sizes in enumerate(outcome["batch_sizes"]):
        others = sizes[sizes != wanted]
        if len(others):
            raise WrongAnswer(
                f"{told(case, outcome)}: rank {rank} trains on batches of {others[0]} examples; "
                f"{BATCH_SIZE} in all make {wanted} for each of {outcome.ranks}"
            )
