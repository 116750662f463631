"""What synchronous training is paid for where no training came right, or a program did not end."""

import re
from collections.abc import Callable, Sequence

from grader.api import (
    Attempt,
    Call,
    Launch,
    NotProven,
    RuleViolation,
    RunFailure,
    Trace,
    Verdict,
    assert_one_neighbour,
    case_context,
    not_run,
)

from .async_stages import may_tell
from .failing_lines import ARGUMENTS, calling_code, is_raised
from .fit_cases import Fit
from .summing import (
    BRINGS_TOGETHER,
    assert_ring_traffic,
    brings_together,
    gradient_num_bytes,
    sent_by_hand,
)
from .sync_cases import FEW_RANKS, FIRST_STEP, Cases, Run, assert_trained_as_one_process

Shows = Callable[[Fit, Attempt], bool]
_OBJECT = r"(?<![\w.])(?!(?:np|numpy|functools)\.)[\w.]+(?:\(\)|\[\w+\])?\."
"""What a method of MPI is called on: these libraries have functions of the same names."""
_SOME_ARGUMENT = re.compile(r"\w\((?!\s*\))")


def assert_shown_before_failing(run: Run, cases: Cases, shows: Shows) -> None:
    """Assert that a training which came to no answer shows something, on 3 or 4 ranks.

    Where a first step was answered, its values tell; what raises an error of its own shows nothing.
    """
    for ranks in FEW_RANKS[1:]:
        launch = run(ranks, cases[ranks]).having(purpose="values", synchronous_sends=False)
        attempts = launch.attempts()
        if any(case.group == FIRST_STEP and not attempt.failure for case, attempt in attempts):
            continue
        for case, attempt in attempts:
            failure = attempt.failure
            if failure and not is_raised(failure) and shows(case, attempt):
                return
    not_run("no failed run shows this")


def gives_a_step_to_collectives(case: Fit, attempt: Attempt) -> bool:
    """Return whether every rank calls collectives with the gradients of a step.

    All ranks but one at most have come back from these calls; requests may be waited for later.
    """

    def gives(calls: Sequence[Call]) -> bool:
        return sum(_given_num_bytes(call) for call in calls) >= gradient_num_bytes(case)

    trace = attempt.trace
    made = [brings_together(trace, rank) for rank in range(len(trace.ranks))]
    left = [[call for call in calls if call.left_ns and not call.error] for calls in made]
    return all(map(gives, made)) and sum(map(gives, left)) >= attempt.ranks - 1


def sends_a_step_around_a_ring(case: Fit, attempt: Attempt) -> bool:
    """Return whether the gradients of a step were sent as rings send them, to one neighbour."""
    try:
        assert_one_neighbour(attempt.trace)
        assert_ring_traffic(case, attempt, least_steps=1)
    except (NotProven, RuleViolation):
        return False
    return any(may_tell(call) for _, call in sent_by_hand(attempt.trace))


def calls_a_collective_on_some_ranks(case: Fit, attempt: Attempt) -> bool:
    """Return whether ranks hang in a collective that all of them but one at most call."""
    made = [
        [*brings_together(attempt.trace, rank), *_begun_in_lower_case(seen.calls)]
        for rank, seen in enumerate(attempt.trace.ranks)
    ]
    waits = any(not call.completed_ns for calls in made for call in calls)
    return _hangs(attempt) and waits and sum(map(bool, made)) >= attempt.ranks - 1


def sends_to_one_neighbour_on_some_ranks(case: Fit, attempt: Attempt) -> bool:
    """Return whether ranks hang, all of which but one at most send to the same side."""
    n = attempt.ranks
    sent = sent_by_hand(attempt.trace)
    ways = {(call.peer - rank) % n for rank, call in sent}
    return _hangs(attempt) and ways in ({1}, {n - 1}) and len({rank for rank, _ in sent}) >= n - 1


def fails_in_a_call_of(*names: str, called_on: str = r"\b") -> Shows:
    """Return whether an error comes from a line that calls one of these with arguments.

    Their names may be misspelt there. A ring of the student may fail further inside, if something
    was sent before. called_on: a pattern of what is before the name.
    """
    name = re.compile(rf"I?({'|'.join(names)})(_init)?", re.IGNORECASE)
    call = re.compile(rf"{called_on}{name.pattern}{ARGUMENTS}", re.IGNORECASE)

    def shows(case: Fit, attempt: Attempt) -> bool:
        failure = attempt.failure
        if failure is None or failure.verdict is not Verdict.RUN_TIME_ERROR:
            return False
        has_sent = any(sent_by_hand(attempt.trace))
        lines = calling_code(failure)[: None if has_sent else 1]
        meant = [str(each.facts.get("meant", "")) for each in failure.findings]
        is_meant = any(map(name.fullmatch, meant)) and any(map(_SOME_ARGUMENT.search, lines[:1]))
        return is_meant or any(map(call.search, lines))

    return shows


fails_in_a_collective = fails_in_a_call_of(*BRINGS_TOGETHER, called_on=_OBJECT)


def assert_program_trains(program: Launch) -> None:
    """Assert that a program of its own trains correctly; waiting in MPI.Finalize is after that."""
    if any(_waits_in_finalize(attempt.trace) for _, attempt in program.attempts()):
        return
    for case, outcome in program:
        assert_trained_as_one_process(case, outcome)


def assert_program_ends(program: Launch, ordinary: Launch) -> None:
    """Assert that a program of its own calls MPI.Finalize, or fails before as fit does by itself.

    ordinary: the same fit without a program of its own. Raises RuleViolation with the rank that
    does not call it; what else ends the program.
    """
    known = [answer for _, answer in ordinary.answers() if isinstance(answer, RunFailure)]

    def is_known(attempt: Attempt) -> bool:
        called = {name for seen in attempt.trace.ranks for name in seen.calls.functions()}
        failure = attempt.failure
        return "Finalize" not in called and any(failure and _is_like(failure, k) for k in known)

    if any(is_known(attempt) for _, attempt in program.attempts()):
        return
    for case, outcome in program:
        for rank, seen in enumerate(outcome.trace.ranks):
            if "Finalize" not in seen.calls.functions():
                text = f"Rank {rank} did not call MPI.Finalize."
                helps = "fit must call MPI.Finalize() once, after all epochs"
                with case_context(case, outcome):
                    raise RuleViolation.of("sync.not_finalized", text, help=helps, rank=rank)


def _is_like(failure: RunFailure, other: RunFailure) -> bool:
    """Return whether both fail alike; which rank waits where may differ from run to run."""
    hangs = failure.verdict is other.verdict is Verdict.DEADLOCK
    return failure.is_like(other) or (hangs and failure.kind == other.kind)


def _hangs(attempt: Attempt) -> bool:
    return attempt.failure is not None and attempt.failure.verdict is Verdict.DEADLOCK


def _begun_in_lower_case(calls: Sequence[Call]) -> list[Call]:
    """Return the call by which mpi4py begins a lower-case collective, where it does not return."""
    return [call for call in calls if call.function == "Comm_dup" and not call.left_ns]


def _given_num_bytes(call: Call) -> int:
    """Return what a rank gives to a collective; what it receives in a lower-case one is not its.

    Zeros are nothing.
    """
    return 0 if call.is_receive or not may_tell(call) else max(call.num_bytes, 0)


def _waits_in_finalize(trace: Trace) -> bool:
    """Return whether ranks wait in MPI.Finalize, and in nothing else."""
    last = [seen.calls[-1] for seen in trace.ranks if len(seen.calls)]
    waiting = {call.function for call in last if not call.left_ns}
    return waiting == {"Finalize"}
