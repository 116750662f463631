"""What a part demands of what its programs send, and of the names they use."""

import numpy as np

from grader.api import (
    ANY_SOURCE,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_not_truncated,
    call_site,
    calls_by_rank,
    found,
)

from .exchange import place_of
from .serial import num_parameters
from .steps import num_steps
from .train_cases import Training

_ROOT_ARGUMENTS = {"gather": "dst", "scatter": "src"}
_LEAST_SHARE_REDUCED = 0.5
"""Of the gradient's numbers: what is sent in half precision may be counted by halves."""


def assert_not_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that the model is trained as it is. Raises RuleViolation."""
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if wrapped.any():
            raise RuleViolation(
                found(
                    "ddp.not_in_this_part",
                    f"Rank {rank} trains the model within DistributedDataParallel, which averages "
                    "the gradients itself.",
                    help="in this part, the program must average them; DistributedDataParallel "
                    "belongs to part 3",
                    rank=rank,
                )
            )


def assert_plain(case: Training, outcome: Outcome) -> None:
    """Assert the same, as a question of what can be looked at. Raises WrongAnswer."""
    try:
        assert_not_through_ddp(case, outcome)
    except RuleViolation as violation:
        raise WrongAnswer(*violation.findings) from None


def assert_wrapped(case: Training, outcome: Outcome) -> None:
    """Assert that torch's DistributedDataParallel holds the model, and not only for show.

    Raises RuleViolation, and NotProven where the evidence of what was sent does not agree.
    """
    assert_not_truncated(outcome.trace)
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["is_wrapped"]):
        calls = outcome.trace.ranks[rank].calls
        if calls and not outcome["through_ddp"][rank].any():
            raise RuleViolation(
                found(
                    "ddp.averaged_by_hand",
                    f"Rank {rank} called {calls[0].function}{call_site(calls[0])} and trains a "
                    "model that is not within DistributedDataParallel itself.",
                    help="in this part, only DistributedDataParallel may average the gradients; a "
                    "subclass may extend it, but not replace what it does",
                    rank=rank,
                    call=calls[0].function,
                    place=place_of(calls[0]),
                )
            )
        if not wrapped.all():
            raise RuleViolation(
                found(
                    "ddp.not_wrapped",
                    f"Rank {rank} trains a model that is in no "
                    "torch.nn.parallel.DistributedDataParallel.",
                    rank=rank,
                )
            )


def assert_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that every training batch goes through DistributedDataParallel, which then sends.

    Raises RuleViolation.
    """
    num_steps(case, outcome)
    whole = num_parameters(case.first_channels)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if not wrapped.all():
            raise RuleViolation(
                found(
                    "ddp.not_called",
                    f"Rank {rank} trains on batches that do not go through "
                    "DistributedDataParallel.",
                    help="which model is called: the wrapped one, or the one inside it?",
                    rank=rank,
                )
            )
        reduced = outcome["num_reduced"][rank]
        too_few = reduced < _LEAST_SHARE_REDUCED * whole
        if too_few.any():
            step = int(np.argmax(too_few))
            raise RuleViolation(
                found(
                    "ddp.does_not_reduce",
                    f"In iteration {step}, DistributedDataParallel reduced {reduced[step]} numbers "
                    f"of rank {rank} during backward; the gradient has {whole}.",
                    help="is backward called in no_sync()?",
                    rank=rank,
                    iteration=step,
                    numbers=reduced[step],
                    expected=whole,
                )
            )


def assert_collected_on_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that rank 0 is the root of every gather and scatter. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace, functions=_ROOT_ARGUMENTS):
        if call.peer != 0:
            argument = _ROOT_ARGUMENTS[call.function]
            raise RuleViolation(
                found(
                    "exchange.other_root",
                    f"Rank {rank} called {call.function}({argument}={call.peer})"
                    f"{call_site(call)}; in this part, rank 0 must take the mean.",
                    rank=rank,
                    call=call.function,
                    root=call.peer,
                    place=place_of(call),
                )
            )


def assert_messages_by_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that every message goes to rank 0 or comes from it. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace):
        names_partner = call.is_send or (call.is_receive and call.peer != ANY_SOURCE)
        if rank and names_partner and call.peer != 0:
            verb = "sent to" if call.is_send else "received from"
            raise RuleViolation(
                found(
                    "exchange.not_with_rank_0",
                    f"Rank {rank} {verb} rank {call.peer}{call_site(call)}; in this part, it may "
                    "exchange messages with rank 0 only.",
                    rank=rank,
                    peer=call.peer,
                    place=place_of(call),
                )
            )


def assert_names_of_today(case: Training, outcome: Outcome) -> None:
    """Assert that no name was used that torch keeps for old programs only.

    Raises RuleViolation.
    """
    for rank, name in enumerate(outcome["old_names"]):
        if name:
            raise RuleViolation(
                found(
                    "names.reduce_op",
                    f"Rank {rank} uses {name}, a name that torch keeps for old programs only.",
                    help="today it is dist.ReduceOp, as in dist.all_reduce(tensor, "
                    "op=dist.ReduceOp.SUM)",
                    rank=rank,
                    name=name.partition(" at ")[0],
                    place=name.partition(" at ")[2],
                )
            )


def assert_options_of_handout(case: Training, outcome: Outcome) -> None:
    """Assert that argparse has the options as the handout writes them. Raises RuleViolation."""
    respelt = max(outcome["respelt"])
    if respelt:
        raise RuleViolation(
            found(
                "options.respelt",
                f"argparse has {respelt}; the handout's command line does not start the program.",
                help="the grader used the program's own spelling, which costs nothing",
                options=respelt,
            )
        )
