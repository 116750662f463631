"""Judges what holds on several numbers of ranks: a rule, or what works where little is correct."""

from collections.abc import Callable, Mapping

from grader.api import Launch, Outcome, RunFailed, WrongAnswer, in_drawn_order, not_run

from .training_cases import FEW_RANKS, SEVERAL_RANKS, Training

Check = Callable[[Training, Outcome], None]
Run = Callable[[int, tuple[Training, ...]], Launch]
Cases = Mapping[int, tuple[Training, ...]]
Answers = list[tuple[Training, Outcome]]


def assert_on_few(run: Run, cases: Cases, check: Check) -> None:
    """Assert that a check holds for a case on 4 ranks, or else on 3.

    Raises what the check raises on 4 ranks, or RunFailed.
    """
    failures: list[WrongAnswer | RunFailed] = []
    for ranks in FEW_RANKS:
        launch = _launch(run, ranks, cases)
        if launch.holding(check):
            return
        try:
            for case, outcome in launch:
                check(case, outcome)
        except (WrongAnswer, RunFailed) as failure:
            failures.append(failure)
    raise failures[0]


def where_few_hold(run: Run, cases: Cases, check: Check) -> Answers:
    """Return the answers on 4 ranks for which a check holds, or else those on 3."""
    for ranks in FEW_RANKS:
        if found := _launch(run, ranks, cases).holding(check):
            return found
    return []


def where_drawn_holds(run: Run, cases: Cases, check: Check) -> Answers:
    """Return one answer on 3 or 4 ranks for which a check holds; the seed decides which."""
    held = [each for ranks in FEW_RANKS for each in _launch(run, ranks, cases).holding(check)]
    return in_drawn_order(held[0][1], held)[:1] if held else []


def where_several_hold(run: Run, cases: Cases, check: Check, what: str) -> Answers:
    """Return all answers on several ranks for which a check holds: those that rules are judged by.

    what: the title of the check. The test is not run if that fails on both 3 and 4 ranks.
    """
    if not where_few_hold(run, cases, check):
        not_run(f"needs: {what} (fails on 3 and 4 ranks)")
    return [
        answer for ranks in SEVERAL_RANKS for answer in _launch(run, ranks, cases).holding(check)
    ]


def _launch(run: Run, ranks: int, cases: Cases) -> Launch:
    """Return the ordinary training; beside it the one whose sends do not wait, if it has failed."""
    launch = run(ranks, cases[ranks])
    plain = launch.having(buffered_sends=False)
    has_answer = any(isinstance(answer, Outcome) for _, answer in plain.answers())
    return plain if has_answer else launch
