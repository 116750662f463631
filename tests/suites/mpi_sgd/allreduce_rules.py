"""By which outcomes abilities and rules of an all-reduce are judged.

One mistake costs the tests about it. An ability (a length, a dtype, ...) is judged on the numbers
of ranks on which the plainest sum is correct, and a rule by all correct outcomes. Where there is
none, stages pay.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress

from grader.api import (
    Finding,
    NotProven,
    Outcome,
    RunFailed,
    WrongAnswer,
    case_context,
    found,
    listed,
    not_run,
)

from .allreduce_cases import PLAIN_LENGTH, SEVERAL_RANKS, GroupReduction, Reduction
from .allreduce_proof import FEWEST_RANKS, Cases, Judged, Run, plain_is_right
from .allreduce_reasons import any_source, send_left
from .allreduce_values import (
    assert_reduced,
    assert_reduced_by_messages,
    assert_reduced_by_no_collective,
    assert_right,
    other_way_of,
)
from .reasons_first import hinted, led_by

Check = Callable[[Reduction, Outcome], object]

_WHOLE = ("any length", "op", "dtype", "one process")
"""Subjects that a single mistake spoils as a whole."""
WRONG_DTYPE = found(
    "dtype.only_float64_works",
    "The call works with float64, but not with other dtypes.",
    help="compare each buffer's dtype with send's",
)


def assert_ability(run: Run, cases: Cases, *subjects: str, hint: Finding | None = None) -> None:
    """Assert that cases of these subjects hold wherever the plainest one does.

    Those have to be enough of the numbers of ranks that each subject asks for, and one of them
    three or more.
    hint: what a failure suggests, since the plainest case is correct.
    """
    for subject in subjects:
        of_subject = {
            ranks: [case for case in cases[ranks] if case.subject == subject] for ranks in cases
        }
        asked = [ranks for ranks, some in of_subject.items() if any(not c.is_long for c in some)]
        able = [ranks for ranks in cases if ranks == 1 or plain_is_right(run, cases, ranks)]
        if not _are_enough([ranks for ranks in able if ranks in asked], asked):
            numbers = listed(str(ranks) for ranks in asked if ranks not in able)
            not_run(f"needs np.add to work on {PLAIN_LENGTH} elements; it fails on {numbers} ranks")
        for ranks in able:
            for is_long in sorted({case.is_long for case in of_subject[ranks]}):
                try:
                    for case, outcome in run(ranks, cases[ranks]).having(
                        subject=subject, is_long=is_long
                    ):
                        assert_reduced_by_messages(case.as_given(outcome), outcome)
                except WrongAnswer as error:
                    if not (is_long and _drops_sends(run, cases, ranks)):
                        raise led_by(error, hint) from None
                except RunFailed as error:
                    if not (is_long and _drops_sends(run, cases, ranks)):
                        raise hinted(error, hint) from None


def _drops_sends(run: Run, cases: Cases, ranks: int) -> bool:
    """Return whether the plainest sum leaves a send without a wait; it is priced by itself.

    A long array may be gone before it is sent: so many wrong results are no bug of their own.
    """
    launch = run(ranks, cases[ranks]).having(subject="plain")
    return any(send_left(outcome.trace) for _, outcome in launch.holding(assert_right))


def assert_late_messages_awaited(run: Run, cases: Cases) -> None:
    """Assert that calls in a row hold with long delays, where one receives from any source.

    A sleep in each call may hide that such a receive takes messages of later calls.
    """
    for case, outcome in run(4, cases[4]).having(subject="in a row"):
        if any_source(outcome):
            for late, answer in run(4, (case.with_long_delays(),)):
                assert_reduced_by_messages(late, answer)


def assert_all_abilities(run: Run, cases: Cases) -> None:
    """Assert what a single mistake may spoil as a whole, and the plainest sum on all ranks."""
    for ranks in SEVERAL_RANKS:
        for case, outcome in run(ranks, cases[ranks]).having(subject="plain"):
            assert_reduced_by_messages(case, outcome)
    assert_ability(run, cases, *_WHOLE)


def assert_rule(
    run: Run, cases: Cases, rule: Check, *, any_way: bool = False, everywhere: bool = False
) -> None:
    """Assert a rule on the traffic of all correct outcomes, one of them on 3 ranks or more.

    any_way: take what a collective brought for as good as messages.
    everywhere: also for long arrays and other ops, for which some code has another way. Of long
    arrays not all calls may have been kept: what is missing breaks no rule.
    """
    judged = right_outcomes(run, cases, any_way=any_way)
    if not any(case.num_elements > seen.ranks >= FEWEST_RANKS for case, seen in judged):
        not_run("needs a correct result from messages on 3 or more ranks")
    for case, outcome in judged:
        with case_context(case, outcome):
            rule(case, outcome)
    ways = ("values", "drawn")
    purposes = [*((ranks, way) for ranks in SEVERAL_RANKS for way in ways), (2, "timing")]
    for ranks, purpose in purposes if everywhere else ():
        launch = run(ranks, cases[ranks]).having(purpose=purpose, synchronous_sends=False)
        for asked, outcome in launch.holding(assert_reduced):
            case = asked.as_given(outcome)
            # Empty arrays need no message, and a group's neighbours are others.
            is_judged = case.num_elements and not isinstance(case, GroupReduction)
            if is_judged and (any_way or other_way_of(outcome) is None):
                with suppress(NotProven), case_context(case, outcome):
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


def timed_check(run: Run, cases: Cases) -> Callable[[Reduction, Outcome], None]:
    """Return what a timed answer must be: reduced by no collective, if shorter arrays are."""
    return assert_reduced_by_no_collective if right_outcomes(run, cases) else assert_reduced


@contextmanager
def timing_sends(run: Run, cases: Cases) -> Iterator[None]:
    """End a test as not run where a timed call fails, and sends are dropped on as many ranks."""
    try:
        yield
    except (WrongAnswer, RunFailed):
        if _drops_sends(run, cases, 2):
            not_run("needs a call that waits for its sends: it may return before they are sent")
        raise


def _are_enough(able: Collection[int], asked: Collection[int]) -> bool:
    """Return whether these numbers of ranks are enough of those asked for to judge by.

    Most of them, or half with the greatest: code that works on two and three ranks may work on no
    others.
    """
    if not able or (max(asked) > 1 and max(able) < FEWEST_RANKS):
        return False
    is_half = 2 * len(able) == len(asked) and max(able) == max(asked)
    return 2 * len(able) > len(asked) or is_half
