"""What a part demands of what its programs send, and of the names they use."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.api import (
    ANY_SOURCE,
    Outcome,
    RuleViolation,
    WrongAnswer,
    assert_not_truncated,
    call_site,
    calls_by_rank,
    case_context,
)

from .serial import num_parameters
from .steps import num_steps, told
from .train_cases import Training

_ROOT_ARGUMENTS = {"gather": "dst", "scatter": "src"}
_SHARES = (0.5, 0.75, 0.95)
"""Of the sizes of a gradient's numbers: what the probe looks at in what is given away."""
_ALIKE = 0.01
_VARIED = 0.9
"""Of a gradient, half of the numbers are smaller than the large ones; of a constant, none are."""
_LEAST_SHARE_REDUCED = 0.5
"""Of the gradient's numbers: what is sent in half precision may be counted by halves."""


def assert_gradients_given(
    case: Training, outcome: Outcome, *, ranks: Sequence[int] | None = None
) -> None:
    """Assert that in each iteration a rank gives its gradient to the operation of the part.

    Whole or in pieces, in any order, scaled by any factor; after the last step nobody looks.
    ranks: those that have to, all when left out. Raises WrongAnswer, and RuleViolation where it
    gives nothing to that operation, but something to another one; NotProven where the evidence of
    what was sent does not agree.
    """
    _assert_evidence(case, outcome)
    steps = range(max(1, num_steps(case, outcome) - 1))
    whole = num_parameters(case.first_channels)
    for rank in range(outcome.ranks) if ranks is None else ranks:
        for step in steps:
            number, *sizes = outcome["given"][rank][step][1:].tolist()
            where = f"{told(case, outcome)}: in iteration {step}, rank {rank}"
            if not number:
                _assert_nothing_instead(case, outcome, rank)
            if number < whole:
                raise WrongAnswer(
                    f"{where} gives {number:.0f} numbers to {case.exchange} after backward; its "
                    f"gradient has {whole}"
                )
            if not _is_scaled(np.array(sizes), outcome["local"][rank][step]):
                raise WrongAnswer(
                    f"{where} gives {number:.0f} numbers to {case.exchange} after backward, but "
                    "they are not those of its gradient"
                )


def assert_something_given(
    case: Training, outcome: Outcome, *, ranks: Sequence[int] | None = None
) -> None:
    """Assert the same of a part of the gradient: some parameters', or what may be all of it.

    Also of what is given within backward, when it may have been averaged already.
    ranks: as above. Raises WrongAnswer, and RuleViolation and NotProven as above.
    """
    _assert_evidence(case, outcome)
    steps = range(max(1, num_steps(case, outcome) - 1))
    whole = num_parameters(case.first_channels)
    for rank in range(outcome.ranks) if ranks is None else ranks:
        for step in steps:
            of_gradients, number, middle, _, large = outcome["given"][rank][step].tolist()
            if not (of_gradients > 0 or (number >= whole and 0 < middle < _VARIED * large)):
                assert_gradients_given(case, outcome, ranks=[rank])
                raise WrongAnswer(
                    f"{told(case, outcome)}: in iteration {step}, rank {rank} gives {number:.0f} "
                    f"numbers to {case.exchange}, but no parameter's gradient"
                )


def _assert_evidence(case: Training, outcome: Outcome) -> None:
    with case_context(case, outcome):
        assert_not_truncated(outcome.trace)


def _assert_nothing_instead(case: Training, outcome: Outcome, rank: int) -> None:
    for call in outcome.trace.ranks[rank].calls:
        if call.num_elements > 0 and call.function != case.exchange:
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} calls {call.function}{call_site(call)} and "
                f"gives nothing to {case.exchange}, which carries the gradients in this part"
            )


def assert_gradients_sent(case: Training, outcome: Outcome) -> None:
    """Assert that every rank but 0 sends its gradient away. Raises WrongAnswer."""
    assert_gradients_given(case, outcome, ranks=range(1, outcome.ranks))


def assert_something_sent(case: Training, outcome: Outcome) -> None:
    """Assert the same of a part of the gradient. Raises WrongAnswer."""
    assert_something_given(case, outcome, ranks=range(1, outcome.ranks))


def _is_scaled(sizes: NDArray[np.float64], gradient: NDArray[Any]) -> bool:
    """Return whether numbers of these sizes can be a gradient's, times a factor."""
    own = np.quantile(np.abs(gradient.astype(np.float64)), _SHARES)
    if not (np.isfinite(sizes).all() and sizes[-1] > 0 and own[-1] > 0):
        return False
    return bool(np.allclose(sizes / sizes[-1], own / own[-1], rtol=0, atol=_ALIKE))


def assert_num_elements(case: Training, outcome: Outcome, name: str, *, copies: int) -> None:
    """Assert that an operation carried the whole gradient, in each step, `copies` times in all.

    What each rank gives is counted. Raises RuleViolation.
    """
    wanted = copies * num_steps(case, outcome) * num_parameters(case.first_channels)
    found = sum(
        call.num_elements
        for _, call in calls_by_rank(outcome.trace)
        if call.function.removesuffix("_coalesced") == name
    )
    if found < wanted:
        raise RuleViolation(
            f"{told(case, outcome)}: between backward and step, all ranks give {found} numbers to "
            f"{name}; all gradients of all steps make {wanted}"
        )


def assert_not_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that the model is trained as it is. Raises RuleViolation."""
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        if wrapped.any():
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} trains the model within "
                "DistributedDataParallel, which averages the gradients itself; in this part the "
                "program does that, and part 3 is where DistributedDataParallel belongs"
            )


def assert_plain(case: Training, outcome: Outcome) -> None:
    """Assert the same, as a question of what can be looked at. Raises WrongAnswer."""
    try:
        assert_not_through_ddp(case, outcome)
    except RuleViolation as violation:
        raise WrongAnswer(str(violation)) from None


def assert_wrapped(case: Training, outcome: Outcome) -> None:
    """Assert that torch's DistributedDataParallel holds the model, and not only for show.

    Raises RuleViolation, and NotProven where the evidence of what was sent does not agree.
    """
    _assert_evidence(case, outcome)
    num_steps(case, outcome)
    for rank, wrapped in enumerate(outcome["is_wrapped"]):
        calls = outcome.trace.ranks[rank].calls
        if calls and not outcome["through_ddp"][rank].any():
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} calls {calls[0].function}"
                f"{call_site(calls[0])} and trains a model that is not within "
                "DistributedDataParallel itself: in this part that averages the gradients, nothing "
                "else; a class made of it may add to it, but not replace what it does"
            )
        if not wrapped.all():
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} trains a model that no "
                "torch.nn.parallel.DistributedDataParallel was made of"
            )


def assert_through_ddp(case: Training, outcome: Outcome) -> None:
    """Assert that every training batch goes through DistributedDataParallel, which then sends.

    Raises RuleViolation.
    """
    num_steps(case, outcome)
    least = _LEAST_SHARE_REDUCED * num_parameters(case.first_channels)
    for rank, wrapped in enumerate(outcome["through_ddp"]):
        where = f"{told(case, outcome)}: rank {rank}"
        if not wrapped.all():
            raise RuleViolation(
                f"{where} trains a model that is not within DistributedDataParallel: call the "
                "wrapped model itself, and not the one inside it"
            )
        reduced = outcome["num_reduced"][rank]
        if (reduced < least).any():
            step = int(np.argmax(reduced < least))
            raise RuleViolation(
                f"{where}: in iteration {step} DistributedDataParallel reduces {reduced[step]} "
                f"numbers during backward; the gradient has "
                f"{num_parameters(case.first_channels)} (is backward called in no_sync()?)"
            )


def assert_collected_on_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that rank 0 is the root of every gather and scatter. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace, functions=_ROOT_ARGUMENTS):
        if call.peer != 0:
            argument = _ROOT_ARGUMENTS[call.function]
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} calls {call.function}({argument}="
                f"{call.peer}){call_site(call)}; in this part rank 0 takes the mean: {argument}=0"
            )


def assert_messages_by_rank_0(case: Training, outcome: Outcome) -> None:
    """Assert that every message goes to rank 0 or comes from it. Raises RuleViolation."""
    for rank, call in calls_by_rank(outcome.trace):
        names_partner = call.is_send or (call.is_receive and call.peer != ANY_SOURCE)
        if rank and names_partner and call.peer != 0:
            verb = "sends to" if call.is_send else "receives from"
            raise RuleViolation(
                f"{told(case, outcome)}: rank {rank} {verb} rank {call.peer}{call_site(call)}; in "
                "this part rank 0 takes the mean, and the others talk to rank 0 only"
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


def assert_options_of_handout(case: Training, outcome: Outcome) -> None:
    """Assert that argparse has the options as the handout writes them. Raises RuleViolation."""
    respelt = max(outcome["respelt"])
    if respelt:
        raise RuleViolation(
            f"argparse has {respelt}. The grader used the program's own spelling, which costs "
            "nothing; the handout's command line does not start it"
        )
