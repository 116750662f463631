"""What a program is paid at least for, where no step comes right: what it gives to others."""

from dataclasses import replace

from grader.api import Outcome, RunFailure, Verdict, WrongAnswer, case_context, not_run

from . import gradients
from .batches import GRADIENT_TOLERANCE, own_gradients
from .checks import Check, Run, assert_all_hold, assert_starts_equal, require
from .examples import assert_batch_sizes, assert_shared_out
from .exchange import assert_nearly_whole_if_any, gives_gradient
from .steps import assert_trained
from .train_cases import Training, epoch_of, first_batch_of

_RANKS = 4


def assert_all_give_gradients(run: Run, cases: tuple[Training, ...]) -> None:
    """Assert that all ranks give the gradients of their own batches to the operation of the part.

    Of nearly all parameters, if they come to a step. cases: of the part, on 4 ranks. Raises
    WrongAnswer, and RunFailed; skips where no rank reached a batch.
    """
    for case, outcome in epoch_of(run(_RANKS, cases)).answers():
        if isinstance(outcome, Outcome):
            with case_context(case, outcome):
                assert_nearly_whole_if_any(case, outcome)
    setup = (assert_starts_equal, assert_shared_out, assert_batch_sizes)
    _assert_of_exchange(run, cases, *setup, _assert_all_give)


def assert_most_give_gradients(run: Run, cases: tuple[Training, ...]) -> None:
    """Assert that all ranks but one do, whatever their batches are, of some parameters at least.

    Raises and skips as above.
    """
    _assert_of_exchange(run, cases, _assert_most_give)


def assert_helped(run: Run, ranks: int, cases: tuple[Training, ...], *checks: Check) -> None:
    """Assert checks of a training that the grader helps to begin, where an error ends the first.

    cases: of the part, on so many ranks. Raises what the checks raise; skips where the first case
    ends by no error.
    """
    _, first = next(iter(run(ranks, cases).answers()), (None, None))
    if not (isinstance(first, RunFailure) and first.verdict is Verdict.RUN_TIME_ERROR):
        not_run("the program needs no help to start")
    helped = replace(_epoch(cases), takes_flags=True, is_helped=True, call="helped")
    assert_all_hold(run(ranks, (helped,)), *checks)


def _assert_of_exchange(run: Run, cases: tuple[Training, ...], *checks: Check) -> None:
    require(first_batch_of(run(_RANKS, cases)), assert_trained, "not every rank reached a batch")
    exchange = replace(_epoch(cases), extent="exchange")
    assert_all_hold(run(_RANKS, (exchange,)), *checks)


def _epoch(cases: tuple[Training, ...]) -> Training:
    return next(case for case in cases if case.extent == "epoch")


def _assert_all_give(case: Training, outcome: Outcome) -> None:
    _assert_give(case, outcome, outcome.ranks)


def _assert_most_give(case: Training, outcome: Outcome) -> None:
    _assert_give(case, outcome, outcome.ranks - 1)


def _assert_give(case: Training, outcome: Outcome, least: int) -> None:
    """Assert that so many ranks give the true gradient of their batch. Raises WrongAnswer."""
    own, local = own_gradients(case, outcome), outcome["local"]
    giving = [
        rank
        for rank in range(outcome.ranks)
        if gives_gradient(case, outcome, rank)
        and gradients.is_multiple(local[rank][0], own[rank][0], alike=GRADIENT_TOLERANCE)
    ]
    if len(giving) < least:
        text = f"{len(giving)} of {outcome.ranks} ranks passed a gradient to {case.exchange}."
        raise WrongAnswer.of("exchange.too_few_ranks", text, ranks=giving, expected=least)
