"""The runs of a script that came to an end, and what is looked at where none did."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.api import Launch, Outcome, WrongAnswer, found, holds, not_run

from . import lenet
from .gathering import given_num_bytes
from .training_cases import Training

Check = Callable[[Training, Outcome], None]
Run = Callable[..., Launch]
Answered = tuple[Training, Outcome]
Runs = Iterator[Answered]


def answered(
    run: Run, cases: Mapping[int, Sequence[Training]], most_gradients: Callable[[Training], int]
) -> Runs:
    """Yield the ordinary runs that came to an end, by number of ranks in their order.

    Where none does so far, it is begun once more and ended early: a script that fails after its
    training, or in its last step, has done all before rightly. That is looked at if no other number
    of ranks comes to its end either, and if it has come to sending anything.
    most_gradients: after how many gradients a rank is ended then.
    Raises RunFailed where nothing came back at all.
    """
    has_ended = False
    begun: list[Answered] = []
    for ranks, of_ranks in cases.items():
        ended = _ordinary(run(ranks, of_ranks)).holding(_anything)
        yield from ended
        has_ended = has_ended or bool(ended)
        if not has_ended and not begun:
            again = replace(of_ranks[0], most_gradients=most_gradients(of_ranks[0]))
            begun = run(ranks, (again,)).holding(_has_given)
    if not has_ended and not begun:
        ranks, of_ranks = next(iter(cases.items()))
        next(iter(_ordinary(run(ranks, of_ranks))))
    if not has_ended:
        yield from begun


def whole(runs: Runs) -> Runs:
    """Yield these runs; ends the test as not run where none of them came to its end.

    For what is asked of every step, or round: of one that was only begun nobody knows.
    """
    for case, outcome in runs:
        if case.most_gradients is not None:
            not_run("needs a script that finishes on some number of ranks")
        yield case, outcome


def assert_ends_alike(
    run: Run, cases: Mapping[int, Sequence[Training]], ranks: int, checks: Sequence[Check]
) -> None:
    """Assert that a run comes to its end, and trains as rightly as those on other ranks.

    checks: of which each has to hold that holds on all the others.
    Raises RunFailed, and what a check raises.
    """
    others: list[Answered] = []
    for other, of_ranks in cases.items():
        if other != ranks:
            others += _ordinary(run(other, of_ranks)).holding(_anything)
    for case, outcome in _ordinary(run(ranks, cases[ranks])):
        assert_as_right_as(others, case, outcome, checks)


def assert_as_right_as(
    others: Iterable[Answered], case: Training, outcome: Outcome, checks: Sequence[Check]
) -> None:
    """Assert that each of the checks holds that holds for all of these other runs.

    What a script does wrong each time costs the tests that are about it. Raises what a check does.
    """
    others = list(others)
    for check in checks:
        if all(holds(check, *other) for other in others):
            check(case, outcome)


def _ordinary(launch: Launch) -> Launch:
    return launch.having(purpose="values", synchronous_sends=False)


def _has_given(case: Training, outcome: Outcome) -> None:
    """Check that some rank gave others half a model's bytes or more. Raises WrongAnswer."""
    given = [given_num_bytes(outcome.trace, rank) for rank in range(outcome.ranks)]
    if max(given) < lenet.MODEL_NUM_BYTES // 2:
        text = "No rank sent as much as half a model."
        raise WrongAnswer(found("traffic.less_than_half_a_model", text))


def _anything(case: Training, outcome: Outcome) -> None:
    pass
