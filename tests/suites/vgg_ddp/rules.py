"""What a part demands of what its programs send, and of the names they use."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from grader.api import (
    ANY_SOURCE,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_not_truncated,
    assert_only_operations,
    call_place,
    call_site,
    calls_by_rank,
)

from .exchange import num_elements_given
from .serial import num_parameters
from .steps import num_steps
from .train_cases import Printing, Training

_ROOT_ARGUMENTS = {"gather": "dst", "scatter": "src"}
_FEW_NUMBERS = 2
_MOST_SHARE_SCATTERED = 2.5
"""Of the means: more than parameters beside them, fewer than the gradients of all ranks."""
_LEAST_SHARE_REDUCED, _MOST_SHARE_REDUCED = 0.5, 1.5
"""Of the gradient's numbers: what is sent in half precision may be counted by halves, and what
other layers reduce in backward, such as a loss, is far less than the gradient."""


def assert_not_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that the model is trained as it is. Raises RuleViolation."""
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if wrapped.any():
            text = f"Rank {rank} trained a model wrapped in DistributedDataParallel, "
            text += "which averages the gradients itself."
            helps = "in this part, your own code must average the gradients"
            helps += "; DistributedDataParallel belongs to part 3"
            raise RuleViolation.of("ddp.not_in_this_part", text, help=helps, rank=rank)


def assert_plain(case: Training, outcome: Outcome) -> None:
    """Assert the same, as a question of what can be looked at. Raises WrongAnswer."""
    try:
        assert_not_through_ddp(case, outcome)
    except RuleViolation as violation:
        raise WrongAnswer(*violation.findings) from None


def assert_gradients_only_by(
    case: Training, outcome: Outcome, allowed: Collection[str], words: str
) -> None:
    """Assert that no other operations carry gradients. Raises RuleViolation.

    Not of one number or two in later steps, such as a loss: how many steps print one is drawn.
    """
    trace = outcome.trace
    if case.extent == "late":
        ranks = [
            replace(seen, calls=seen.calls.where(seen.calls.column("num_elements") > _FEW_NUMBERS))
            for seen in trace.ranks
        ]
        trace = replace(trace, ranks=tuple(ranks))
    assert_only_operations(trace, allowed=allowed, words=words)


def assert_wrapped(case: Training, outcome: Outcome) -> None:
    """Assert that torch's DistributedDataParallel holds the model, and not only for show.

    Raises RuleViolation, and NotProven where the evidence of what was sent does not agree.
    """
    assert_not_truncated(outcome.trace)
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["is_wrapped"]):
        calls = outcome.trace.ranks[rank].calls
        if calls and not outcome["through_ddp"][rank].any():
            call = calls[0]
            text = f"Rank {rank} called {call.function}{call_site(call)} and trained a model "
            text += "that was not wrapped in torch's own DistributedDataParallel."
            helps = "in this part, only DistributedDataParallel may average the gradients"
            helps += "; a subclass may extend it, but must leave the averaging to it"
            facts: dict[str, Any] = {"rank": rank, "call": call.function, "place": call_place(call)}
            raise RuleViolation.of("ddp.averaged_by_hand", text, help=helps, **facts)
        if not wrapped.all():
            wrapper = "torch.nn.parallel.DistributedDataParallel"
            text = f"Rank {rank} trained a model that was not wrapped in {wrapper}."
            raise RuleViolation.of("ddp.not_wrapped", text, rank=rank)


def assert_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that every training batch goes through DistributedDataParallel, which then sends.

    Raises RuleViolation.
    """
    num_steps(case, outcome)
    whole = num_parameters(case.first_channels)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if not wrapped.all():
            text = f"Rank {rank} trained on batches that did not go through "
            text += "DistributedDataParallel."
            helps = "does your loop call the wrapped model, or the one inside it?"
            raise RuleViolation.of("ddp.not_called", text, help=helps, rank=rank)
        reduced = outcome["num_reduced"][rank]
        too_few = reduced < _LEAST_SHARE_REDUCED * whole
        if too_few.any():
            step = int(np.argmax(too_few))
            numbers = int(reduced[step])
            text = f"In iteration {step}, DistributedDataParallel reduced {numbers} of "
            text += f"rank {rank}'s numbers during backward; the gradient has {whole}."
            helps = "does your code call backward inside no_sync()?"
            facts: dict[str, Any] = {
                "rank": rank,
                "iteration": step,
                "numbers": numbers,
                "expected": whole,
            }
            raise RuleViolation.of("ddp.does_not_reduce", text, help=helps, **facts)


def assert_reduced_once(case: Training, outcome: Outcome) -> None:
    """Assert that backward all-reduces the gradient once, not twice. Raises RuleViolation."""
    num_steps(case, outcome)
    whole = num_parameters(case.first_channels)
    for rank, reduced in enumerate(outcome["num_reduced"]):
        step = int(np.argmax(reduced))
        if (numbers := int(reduced[step])) > _MOST_SHARE_REDUCED * whole:
            text = f"In iteration {step}, rank {rank} exchanged {numbers} numbers during backward; "
            text += f"the gradient has {whole}, which DistributedDataParallel reduces once."
            helps = "leave the averaging to DistributedDataParallel"
            facts = {"rank": rank, "iteration": step, "numbers": numbers, "expected": whole}
            raise RuleViolation.of("ddp.reduces_more", text, help=helps, **facts)


def assert_collected_on_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that rank 0 is the root of every gather and scatter, and scatters the mean.

    Not the gradients of all ranks to each of them. Raises RuleViolation.
    """
    for rank, call in calls_by_rank(outcome.trace, functions=_ROOT_ARGUMENTS):
        if call.peer != 0:
            called = f"{call.function}({_ROOT_ARGUMENTS[call.function]}={call.peer})"
            text = f"Rank {rank} called {called}{call_site(call)}; "
            text += "in this part, rank 0 must take the mean."
            facts: dict[str, Any] = {"rank": rank, "call": call.function, "place": call_place(call)}
            raise RuleViolation.of("exchange.other_root", text, root=call.peer, **facts)
    given = num_elements_given(outcome, "scatter")
    steps = num_steps(case, outcome) + outcome.inputs[0]["num_earlier_steps"]
    expected = outcome.ranks * steps * num_parameters(case.first_channels)
    if given > _MOST_SHARE_SCATTERED * expected:
        text = f"Rank 0 scattered {given} numbers; expected {expected}, for the mean of the "
        text += "gradients in each step."
        helps = "rank 0 must take the mean, and scatter nothing else"
        raise RuleViolation.of(
            "exchange.more_than_mean", text, help=helps, numbers=given, expected=expected
        )


def assert_messages_by_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that every message goes to rank 0 or comes from it. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace):
        names_partner = call.is_send or (call.is_receive and call.peer != ANY_SOURCE)
        if rank and names_partner and call.peer != 0:
            verb = "sent to" if call.is_send else "received from"
            text = f"Rank {rank} {verb} rank {call.peer}{call_site(call)}; "
            text += "in this part, it may exchange messages with rank 0 only."
            facts: dict[str, Any] = {"rank": rank, "peer": call.peer, "place": call_place(call)}
            raise RuleViolation.of("exchange.not_with_rank_0", text, **facts)


def assert_names_of_today(case: Training, outcome: Outcome) -> None:
    """Assert that no name was used that torch keeps for old programs only.

    Raises RuleViolation.
    """
    for rank, use in enumerate(outcome["old_names"]):
        if use:
            name, _, place = use.partition(" at ")
            text = f"Rank {rank} used {use}, a name that torch has deprecated."
            helps = "use dist.ReduceOp, as in dist.all_reduce(tensor, op=dist.ReduceOp.SUM)"
            raise RuleViolation.of(
                "names.reduce_op", text, help=helps, rank=rank, name=name, place=place
            )


def assert_options_of_handout(case: Training, outcome: Outcome) -> None:
    """Assert that argparse has the options as the handout writes them. Raises RuleViolation."""
    respelt = max(outcome["respelt"])
    if respelt:
        text = f"The program's argparse spells options differently ({respelt}), "
        text += "so the handout's command line does not start the program."
        helps = "spell the options as in the handout; this costs no points, because the grader "
        helps += "used your spelling"
        raise RuleViolation.of("options.respelt", text, help=helps, options=respelt)


def assert_folders_created(case: Training | Printing, outcome: Outcome) -> None:
    """Assert that a program creates the folders that it writes into. Raises RuleViolation."""
    folder = max(outcome["created_folders"])
    if folder:
        text = f"The program writes to a folder that did not exist at the start: {folder}."
        helps = "create folders with os.makedirs(..., exist_ok=True)"
        helps += "; the grader created the folder, so this costs no points"
        raise RuleViolation.of("output.no_folder", text, help=helps, folder=folder)
