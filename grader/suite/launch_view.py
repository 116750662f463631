"""What a suite gets back from `run`: the answered cases, and the failure where answers end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.judge.findings import WrongAnswer
from grader.model import Outcome, RunFailure, Verdict
from grader.suite.case import Case


class RunFailed(Exception):
    """A case has no answer, because its run ended before: carries the reason."""

    def __init__(self, failure: RunFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Launch:
    """One run: iterate it to get every case with its outcome, in order."""

    cases: tuple[Case, ...]
    outcomes: tuple[Outcome | RunFailure, ...]
    failure: RunFailure | None
    selected: frozenset[int]
    """Indices of the cases that iteration gives."""
    ranks: int

    def having(self, **fields: Any) -> "Launch":
        """Return the same run with only the cases whose attributes have these values."""
        kept = frozenset(
            index
            for index in self.selected
            if all(getattr(self.cases[index], name) == value for name, value in fields.items())
        )
        return replace(self, selected=kept)

    def __iter__(self) -> Iterator[tuple[Any, Outcome]]:
        """Yield (case, outcome).

        Raises RunFailed at the first case without an answer, WrongAnswer at one whose answer was
        refused for its form.
        """
        for index in sorted(self.selected):
            case = self.cases[index]
            told = f"{_ranks_text(self.ranks)}, {case.label}"
            if index >= len(self.outcomes):
                raise RunFailed(self.told_failure())
            outcome = self.outcomes[index]
            if isinstance(outcome, RunFailure):
                raise WrongAnswer(f"{told}: {outcome.message}")
            yield case, outcome

    def answers(self) -> Iterator[tuple[Any, Outcome | RunFailure]]:
        """Yield each case with its outcome, or with why it has none, up to where the run ended."""
        for index in sorted(self.selected):
            if index < len(self.outcomes):
                yield self.cases[index], self.outcomes[index]
            elif index == len(self.outcomes):
                yield self.cases[index], self.told_failure()

    def told_failure(self) -> RunFailure:
        """Return why the run ended, naming the case that was the last."""
        assert self.failure is not None
        if self.failure.verdict is Verdict.NOT_ATTEMPTED:
            return self.failure
        late = self.cases[len(self.outcomes)]
        told = f"{_ranks_text(self.ranks)}, {late.label}: {self.failure.message}"
        return replace(self.failure, message=told)


def make_launch(
    cases: Sequence[Case],
    outcomes: Sequence[Outcome | RunFailure],
    failure: RunFailure | None,
    ranks: int,
) -> Launch:
    """Return the view of a run over all its cases."""
    return Launch(tuple(cases), tuple(outcomes), failure, frozenset(range(len(cases))), ranks)


def _ranks_text(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"
