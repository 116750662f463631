"""How a failed check says which case it was about."""

from collections.abc import Iterator
from contextlib import contextmanager

from grader.model import Outcome
from grader.suite.case import Case
from grader.suite.continuation import ranks_text


@contextmanager
def case_context(case: Case, outcome: Outcome) -> Iterator[None]:
    """Put number of ranks and case before whatever a check inside says."""
    try:
        yield
    except AssertionError as error:
        raise type(error)(f"{ranks_text(outcome.ranks)}, {case.label}: {error}") from None
