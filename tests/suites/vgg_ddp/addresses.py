"""Programs that have the address of node 0 in their code: the grader joins their nodes."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from grader.api import Launch, RunFailure

from .train_cases import Training

_RANKS = 4
_LOOKS_ELSEWHERE = "init_process_group looks for rank 0 at "
_UNKNOWN_FLAG = "error: unrecognized arguments: --master-ip "


def joining(cases: tuple[Training, ...]) -> Callable[..., Callable[..., Launch]]:
    """Return the fixture `run` of a part: it joins nodes of programs that ignore --master-ip."""

    @pytest.fixture
    def run(run: Callable[..., Launch]) -> Callable[..., Launch]:
        return joined_where_needed(run, cases)

    return run


def joined_where_needed(
    run: Callable[..., Launch], cases: tuple[Training, ...]
) -> Callable[..., Launch]:
    """Return `run`; on 4 nodes it joins those of a program that ignores --master-ip, as `helped`.

    Not for the whole program, which has to start as the handout says. cases: of the part, on 4
    nodes; the first tells.
    """

    def run_joined(ranks: int, wanted: tuple[Training, ...], **options: bool) -> Launch:
        if ranks == _RANKS and _is_address_in_code(run(_RANKS, cases)):
            wanted = tuple(map(_joined, wanted))
        return run(ranks, wanted, **options)

    return run_joined


def _is_address_in_code(launch: Launch) -> bool:
    _, first = next(iter(launch.answers()), (None, None))
    if not (isinstance(first, RunFailure) and first.findings):
        return False
    message = str(first.findings[0].facts.get("message", ""))
    return message.startswith(_LOOKS_ELSEWHERE) or _UNKNOWN_FLAG in first.detail


def _joined(case: Training) -> Training:
    if case.extent == "program" or not case.takes_flags:
        return case
    return replace(case, is_helped=True)
