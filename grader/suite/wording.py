"""How a failed check says which case it was about."""

from collections.abc import Iterator
from contextlib import contextmanager

from grader.model import Outcome
from grader.suite.case import Case


@contextmanager
def naming(case: Case, outcome: Outcome) -> Iterator[None]:
    """Put number of ranks and case before whatever a check inside says."""
    try:
        yield
    except AssertionError as error:
        ranks = "1 rank" if outcome.ranks == 1 else f"{outcome.ranks} ranks"
        raise type(error)(f"{ranks}, {case.label}: {error}") from None
