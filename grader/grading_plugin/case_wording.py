"""How a failed check says which case it was about."""

from collections.abc import Iterator
from contextlib import contextmanager

from grader.grading_plugin.case import Case
from grader.grading_plugin.relaunch import ranks_text
from grader.judge.check_failures import CheckFailure, WrongAnswer
from grader.judge.traffic.collective_differences import collective_difference
from grader.model.report import Outcome


@contextmanager
def case_context(case: Case, outcome: Outcome) -> Iterator[None]:
    """Begin each message of a check inside with the number of ranks and the case."""
    about = f"{ranks_text(outcome.ranks)}, {case.label}"
    try:
        yield
    except WrongAnswer as error:
        differs = collective_difference(outcome.trace)
        raise error.led_by(*([differs] if differs else [])).about(about) from None
    except CheckFailure as error:
        raise error.about(about) from None
    except AssertionError as error:
        raise type(error)(f"{about}: {error}") from None
