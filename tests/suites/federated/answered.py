"""The runs of a script that came to an end, and what it does once its slips are forgiven."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from grader.api import (
    Launch,
    Outcome,
    RunFailed,
    Verdict,
    WrongAnswer,
    assert_at_once,
    case_context,
    holds,
    in_drawn_order,
    not_run,
    take_turns,
)

from . import lenet
from .gathering import given_num_bytes
from .training_cases import Trained, Training

Check = Callable[[Training, Outcome], None]
Run = Callable[..., Launch]
Answered = tuple[Training, Outcome]
Runs = Iterator[Answered]
Cases = Mapping[int, Sequence[Training]]


def answered(
    run: Run,
    cases: Cases,
    alone: Callable[[], Launch] | None = None,
    checks: Sequence[Check] = (),
) -> Runs:
    """Yield the ordinary runs that came to an end, by number of ranks, and then a longer one.

    alone: returns the run of the script as a program of its own. checks: if all hold for the
    ordinary runs, they have to hold for the longer one. Raises RunFailed where no run came to an
    end, and where the program of its own does not even come to calling MPI; what a check raises.
    """
    ended: list[Answered] = []
    for ranks, of_ranks in cases.items():
        for each in _ordinary(run(ranks, of_ranks)).holding(_anything):
            if not ended and alone is not None:
                assert_calls_mpi(alone())
            ended.append(each)
            yield each
    if not ended:
        ranks, of_ranks = next(iter(cases.items()))
        next(iter(_ordinary(run(ranks, of_ranks))))
    if checks and all(holds(check, *each) for each in ended for check in checks):
        yield from _longer(run, ended, checks)


def right_ones(runs: Runs) -> Iterator[Answered]:
    """Yield runs until one is wrong: what is wrong with that one is for another test."""
    with suppress(WrongAnswer, RunFailed):
        yield from runs


def in_turns(runs: Runs, unbuffered: Iterable[Answered] = ()) -> list[Answered]:
    """Return the longer run if its ranks compute one after another, and others of which that holds.

    unbuffered: runs in which MPI stores no message. They count only where the longer run's ranks do
    not compute at once: sends that are stored there may be all that makes a rank wait.
    """
    found = [each for each in right_ones(runs) if each[0].is_longer]
    if found and all(take_turns(outcome["paused_ns"]) for _, outcome in found):
        found += unbuffered
    return [each for each in found if take_turns(each[1]["paused_ns"], each[1].trace)]


def assert_none_in_turns(runs: Runs, unbuffered: Iterable[Answered] = ()) -> None:
    """Assert that `in_turns` returns no run. Raises RuleViolation."""
    for case, outcome in in_turns(runs, unbuffered):
        with case_context(case, outcome):
            assert_at_once(outcome["paused_ns"], outcome.trace)


def _longer(run: Run, ended: Sequence[Answered], checks: Sequence[Check]) -> Runs:
    """Yield a longer run on a number of ranks that is drawn, if time and records suffice for it.

    What diverges is judged by shorter runs. Raises RunFailed where it fails otherwise.
    """
    case, outcome = in_drawn_order(ended[0][1], ended)[0]
    launch = run(outcome.ranks, (replace(case, is_longer=True),))
    for longer, answer in launch.answers():
        if not isinstance(answer, Outcome):
            if answer.verdict not in (Verdict.TIME_LIMIT_EXCEEDED, Verdict.NOT_PROVEN):
                raise RunFailed(answer)
        elif not (Trained(longer, answer).has_diverged or _is_truncated(answer)):
            for check in checks:
                check(longer, answer)
            yield longer, answer


def _is_truncated(outcome: Outcome) -> bool:
    return any(seen.truncated for seen in outcome.trace.ranks)


def begun(
    run: Run,
    cases: Cases,
    runs: Runs,
    most_gradients: int,
    checks: Sequence[Check],
    *,
    is_forgiven: bool = True,
) -> Answered:
    """Return a run for which the checks hold, of a script that `runs` raises for.

    Its ranks are ended after so many gradients. is_forgiven: its slips are, wrong tags last.
    Ends a stage for any other script.
    """
    try:
        next(runs)
    except RunFailed:
        ranks, (case, *_) = next(iter(cases.items()))
        case = replace(case, probe="begin", call="begin", most_gradients=most_gradients)
        for keeps_tags in (True, False) if is_forgiven else (True,):
            again = replace(case, keeps_tags=keeps_tags, is_forgiven=is_forgiven)
            for each in run(ranks, (again,)).holding(_has_given):
                if all(holds(check, *each) for check in checks):
                    return each
    not_run("needs a script that is correct until an error stops it")


def assert_ends_alike(run: Run, cases: Cases, ranks: int, checks: Sequence[Check]) -> None:
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


def assert_calls_mpi(launch: Launch) -> None:
    """Raise the RunFailed of a run that has crashed before its first call of MPI."""
    for _, attempt in launch.attempts():
        crashed = attempt.failure is not None and attempt.failure.verdict is Verdict.RUN_TIME_ERROR
        if crashed and not any(each.calls for each in attempt.trace.ranks):
            next(iter(launch))


def _ordinary(launch: Launch) -> Launch:
    return launch.having(purpose="values", synchronous_sends=False)


def _has_given(case: Training, outcome: Outcome) -> None:
    """Check that some rank gave others half a model's bytes or more. Raises WrongAnswer."""
    given = [given_num_bytes(outcome.trace, rank) for rank in range(outcome.ranks)]
    if max(given) < lenet.MODEL_NUM_BYTES // 2:
        text = "No rank sent even half a model."
        raise WrongAnswer.of("traffic.less_than_half_a_model", text)


def _anything(case: Training, outcome: Outcome) -> None:
    pass
