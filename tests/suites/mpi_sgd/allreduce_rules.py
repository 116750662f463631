"""By which outcomes abilities and rules of an all-reduce are judged.

One mistake costs the tests about it. An ability (a length, a dtype, ...) is judged on the numbers
of ranks on which the plainest sum is correct, and a rule by all correct outcomes. Where none of
three or more ranks is correct, a rule is still judged by the plainest outcome that there is.
"""

from collections.abc import Callable, Collection

from grader.api import (
    Finding,
    Outcome,
    RuleViolation,
    RunFailed,
    WrongAnswer,
    case_context,
    found,
    listed,
    not_run,
)

from .allreduce_cases import SEVERAL_RANKS, Reduction
from .allreduce_proof import (
    FEWEST_RANKS,
    Cases,
    Judged,
    Run,
    plain_is_right,
    plain_outcomes,
    plainest_sum,
)
from .allreduce_values import assert_reduced_by_messages, assert_right, other_way_of
from .findings import hinted, led_by

Check = Callable[[Reduction, Outcome], object]
Gate = Callable[[Run, Cases], object]

WRONG_DTYPE = found(
    "dtype.only_float64_works",
    "The call works with float64, but not with another dtype.",
    help="compare the dtype of each buffer with that of send",
)


def assert_ability(
    run: Run,
    cases: Cases,
    subject: str,
    check: Check = assert_reduced_by_messages,
    *,
    though_wrong: bool = False,
    hint: Finding | None = None,
) -> None:
    """Assert that the cases of a subject hold on all numbers of ranks on which the plainest one is.

    These have to be enough of those that the subject asks for, and one of three ranks or more.
    though_wrong: where they are not, judge those on which the plainest case has an answer.
    hint: what a failure suggests, since the plainest case is correct.
    """
    asked = [ranks for ranks in cases if any(case.subject == subject for case in cases[ranks])]
    able = [ranks for ranks in asked if ranks == 1 or plain_is_right(run, cases, ranks)]
    if not _are_enough(able, asked) and though_wrong:
        able = [ranks for ranks in asked if ranks == 1 or plain_outcomes(run, cases, ranks)]
    if not _are_enough(able, asked):
        numbers = listed(str(ranks) for ranks in asked if ranks not in able)
        not_run(f"needs the plainest sum, which fails on {numbers} ranks")
    for ranks in able:
        try:
            for case, outcome in run(ranks, cases[ranks]).having(subject=subject):
                check(case, outcome)
        except WrongAnswer as error:
            raise led_by(error, hint) from None
        except RunFailed as error:
            raise hinted(error, hint) from None


def assert_rule(
    run: Run,
    cases: Cases,
    rule: Check,
    *,
    any_way: bool = False,
    though_wrong: bool = True,
    fewest_ranks: int = 2,
    unless_wrong: Gate | None = None,
    unless_other_way: Gate | None = None,
) -> None:
    """Assert a rule on the traffic of all correct outcomes, one of them on 3 ranks or more.

    Without such a one the plainest outcome is judged. though_wrong: False where not even then.
    fewest_ranks: it has to have. unless_wrong: what has to hold then, too; unless_other_way: if a
    collective brought part of it. any_way: take what a collective brought for as good as messages.
    """
    judged = right_outcomes(run, cases, any_way=any_way)
    if not any(case.subject == "plain" and seen.ranks >= FEWEST_RANKS for case, seen in judged):
        case, outcome, _ = plainest_sum(run, cases)
        gate = unless_wrong
        if not any_way and other_way_of(outcome) is not None:
            gate = unless_wrong or unless_other_way
            though_wrong = though_wrong and gate is not None
        if not though_wrong or outcome.ranks < fewest_ranks:
            not_run("needs a correct result by messages on 3 or more ranks")
        try:
            if gate is not None:
                gate(run, cases)
        except (WrongAnswer, RuleViolation):
            not_run("needs a nearly correct result on 3 or more ranks")
        judged = [(case, outcome)]
    for case, outcome in judged:
        with case_context(case, outcome):
            rule(case, outcome)


def right_outcomes(run: Run, cases: Cases, *, any_way: bool = False) -> list[Judged]:
    """Return the cases that show traffic and whose answers are correct, by number of ranks."""
    return [
        (case, outcome)
        for ranks in SEVERAL_RANKS
        for case, outcome in run(ranks, cases[ranks])
        .having(shows_traffic=True)
        .holding(assert_right)
        if any_way or other_way_of(outcome) is None
    ]


def _are_enough(able: Collection[int], asked: Collection[int]) -> bool:
    """Return whether these numbers of ranks are enough of those asked for to judge by.

    Most of them, or half with the greatest: code that works on two and three ranks may work on no
    others.
    """
    if not able or (max(asked) > 1 and max(able) < FEWEST_RANKS):
        return False
    is_half = 2 * len(able) == len(asked) and max(able) == max(asked)
    return 2 * len(able) > len(asked) or is_half
