"""What a part demands of the program beside its numbers and what it sends."""

from grader.judge.findings import RuleViolation
from grader.model import Outcome

from .steps import told
from .train_cases import Training


def assert_not_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that the model is trained as it is. Raises RuleViolation."""
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if wrapped.any():
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} trains the model within "
                "DistributedDataParallel, which averages the gradients itself; in this part the "
                "program does that, and part 3 is where DistributedDataParallel belongs"
            )


def assert_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that every training batch goes through DistributedDataParallel.

    Raises RuleViolation.
    """
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if not wrapped.all():
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} trains a model that is not within "
                "DistributedDataParallel: call the wrapped model itself, and not the one inside it"
            )


def assert_names_of_today(case: Training, outcome: Outcome) -> None:
    """Assert that no name was used that torch keeps for old programs only.

    Raises RuleViolation.
    """
    for rank, name in enumerate(outcome["old_names"]):
        if name:
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} uses {name}, an old name "
                "that is kept for old programs only; today it is dist.ReduceOp, as in "
                "dist.all_reduce(tensor, op=dist.ReduceOp.SUM)"
            )
