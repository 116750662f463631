"""What a part demands of the program beside its numbers and what it sends."""

from grader.judge.counting import calls_by_rank
from grader.judge.findings import RuleViolation
from grader.judge.wording import at
from grader.model import Outcome
from grader.trace.calls import ANY_SOURCE

from .steps import told
from .train_cases import Training

_ROOT_ARGUMENTS = {"gather": "dst", "scatter": "src"}


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


def assert_collected_on_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that rank 0 is the root of every gather and scatter. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace):
        if call.function in _ROOT_ARGUMENTS and call.peer != 0:
            argument = _ROOT_ARGUMENTS[call.function]
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} calls {call.function}({argument}="
                f"{call.peer}){at(call)}; in this part rank 0 takes the mean: {argument}=0"
            )


def assert_messages_by_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that every message goes to rank 0 or comes from it. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace):
        names_partner = call.is_send or (call.is_receive and call.peer != ANY_SOURCE)
        if rank and names_partner and call.peer != 0:
            verb = "sends to" if call.is_send else "receives from"
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} {verb} rank {call.peer}{at(call)}; in this "
                "part rank 0 takes the mean, and the others talk to rank 0 only"
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
