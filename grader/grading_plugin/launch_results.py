"""What a suite gets back from `run`: every case with its outcome, or with why it has none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from grader.grading_plugin.case import Case
from grader.grading_plugin.relaunch import Answer, NotRun
from grader.judge.check_failures import CheckFailure, WrongAnswer
from grader.judge.traffic.collective_differences import collective_difference
from grader.model.errors import GraderError
from grader.model.plural import counted
from grader.model.report import Attempt, Outcome, RunFailure, Verdict

_PROVES_NOTHING = (Verdict.RULE_VIOLATION, Verdict.NOT_PROVEN)


class RunFailed(Exception):
    """A case has no answer, because its run ended: carries the reason."""

    def __init__(self, failure: RunFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class CaseNotRun(Exception):
    """A case was never put to ranks, because of others that failed."""


@dataclass(frozen=True)
class Launch:
    """The cases of one `run`: iterate over it to get each case with its outcome, in order."""

    cases: tuple[Case, ...]
    outcomes: Sequence[Answer]
    """One a case; to look at one may take another launch."""
    selected: frozenset[int]
    """Indices of the cases that iteration gives."""
    ranks: int
    on_read: Callable[[], None] = lambda: None
    """Is told when a test looks at what came back."""
    on_case: Callable[[int, Case, Answer], None] = lambda ranks, case, answer: None
    """Is told which case the test looks at."""
    on_attempt: Callable[[], None] = lambda: None
    """Is told when the test looks at a case of which `attempts` shows what ranks did."""
    unfinished: Mapping[int, Attempt] = field(default_factory=dict)
    """What the ranks did in cases without an outcome, by index."""
    _held: dict[tuple[Any, int], bool] = field(default_factory=dict, compare=False, repr=False)
    """By check and index, whether it held: several tests ask for the same, and it may take long."""

    @property
    def why_never_run(self) -> str:
        """Return why not one of the cases was put to ranks; empty where one was."""
        first = next(iter(self.outcomes), None)
        return first.why if isinstance(first, NotRun) else ""

    def having(self, **fields: Any) -> "Launch":
        """Return the same run with only the cases whose attributes have these values.

        Raises GraderError when there is none: a check of nothing would hold.
        """
        kept = frozenset(
            index
            for index in self.selected
            if all(getattr(self.cases[index], name) == value for name, value in fields.items())
        )
        if not kept:
            wanted = ", ".join(f"{name}={value!r}" for name, value in fields.items())
            raise GraderError(f"no case on {counted(self.ranks, 'rank')} has {wanted}")
        return replace(self, selected=kept)

    def __iter__(self) -> Iterator[tuple[Any, Outcome]]:
        """Yield (case, outcome).

        Raises RunFailed at a case that ended its run, WrongAnswer at one whose answer was refused
        for its form, CaseNotRun at one that was never run. Raises GraderError for cases with and
        without buffering in one loop: who relies on buffering would lose what is not about it.
        """
        if len({self.cases[index].synchronous_sends for index in self.selected}) > 1:
            raise GraderError(
                "a test loops over cases with and without buffering; choose one kind with "
                "having(synchronous_sends=False) or having(synchronous_sends=True)"
            )
        for index, answer in self._answers():
            if isinstance(answer, NotRun):
                raise CaseNotRun(answer.why)
            if isinstance(answer, RunFailure):
                if answer.verdict is Verdict.WRONG_ANSWER:
                    raise WrongAnswer(*answer.findings, case=answer.case)
                raise RunFailed(answer)
            yield self.cases[index], answer

    def ended_in_time(self) -> Iterator[tuple[Any, Outcome]]:
        """Yield (case, outcome), but not of cases that took too long: correct code may, for some.

        Raises what iteration raises at the others.
        """
        in_time = frozenset(
            index
            for index, answer in self._answered()
            if isinstance(answer, Outcome) or answer.verdict is not Verdict.TIME_LIMIT_EXCEEDED
        )
        return iter(replace(self, selected=in_time))

    def answers(self) -> Iterator[tuple[Any, Outcome | RunFailure]]:
        """Return each case that was run with its outcome, or with why it has none.

        Raises RunFailed if the grader itself has failed: then the answers prove nothing.
        """
        return ((self.cases[index], answer) for index, answer in self._answered())

    def attempts(self) -> list[tuple[Any, Attempt]]:
        """Return each case that was run with what the ranks did, whether they finished or not.

        For stages: what the calls show of an algorithm whose results are wrong or missing. Calls
        of a case that ended its launch are not cross-checked. Cases that broke a rule, or whose
        calls prove nothing, are left out. Raises RunFailed if the grader itself has failed.
        """
        return [
            (self.cases[index], attempt)
            for index, answer in self._answered()
            if (attempt := self._attempt(index, answer)) is not None
        ]

    def _attempt(self, index: int, answer: Answer) -> Attempt | None:
        if isinstance(answer, Outcome):
            attempt = Attempt(answer.ranks, answer.inputs, answer.trace)
        elif index in self.unfinished:
            attempt = self.unfinished[index]
        else:
            return None
        refused = isinstance(answer, RunFailure) and answer.verdict in _PROVES_NOTHING
        return None if refused or attempt.trace.doubts else attempt

    def holding(self, check: Callable[[Any, Outcome], object]) -> list[tuple[Any, Outcome]]:
        """Return the cases with outcomes for which the check holds: apply rules to these.

        check: hashable, and depends on its arguments alone; raises WrongAnswer or RunFailed when an
        answer is wrong. Cases without an outcome are left out. Raises RunFailed where the
        grader itself has failed.
        """
        return [
            (self.cases[index], answer)
            for index, answer in self._answered()
            if isinstance(answer, Outcome) and self._holds(check, index, answer)
        ]

    def _holds(self, check: Callable[[Any, Outcome], object], index: int, answer: Outcome) -> bool:
        if (check, index) not in self._held:
            self._held[check, index] = holds(check, self.cases[index], answer)
        return self._held[check, index]

    def _answered(self) -> Iterator[tuple[int, Outcome | RunFailure]]:
        for index, answer in self._answers():
            if isinstance(answer, RunFailure) and answer.verdict is Verdict.JUDGE_ERROR:
                raise RunFailed(answer)
            if not isinstance(answer, NotRun):
                yield index, answer

    def _answers(self) -> Iterator[tuple[int, Answer]]:
        self.on_read()
        for index in sorted(self.selected):
            answer = self.outcomes[index]
            self.on_case(self.ranks, self.cases[index], answer)
            if self._attempt(index, answer) is not None:
                self.on_attempt()
            yield index, answer


def make_launch(
    cases: Sequence[Case],
    outcomes: Sequence[Answer],
    ranks: int,
    unfinished: Mapping[int, Attempt] = MappingProxyType({}),
) -> Launch:
    """Return the view of a run over all its cases."""
    selected = frozenset(range(len(cases)))
    return Launch(tuple(cases), outcomes, selected, ranks, unfinished=unfinished)


def never_run(cases: Sequence[Case], ranks: int, why: str) -> Launch:
    """Return the view of a run that was never started."""
    return make_launch(cases, [NotRun(why)] * len(cases), ranks)


def holds(check: Callable[[Any, Outcome], object], case: Any, outcome: Outcome) -> bool:
    """Return whether a check raises neither WrongAnswer nor RunFailed for a case."""
    try:
        check(case, outcome)
    except (WrongAnswer, RunFailed):
        return False
    return True


@contextmanager
def case_context(case: Case, outcome: Outcome) -> Iterator[None]:
    """Put the number of ranks and the case before each message of the checks inside."""
    about = f"{counted(outcome.ranks, 'rank')}, {case.label}"
    try:
        yield
    except WrongAnswer as error:
        differs = collective_difference(outcome.trace)
        raise error.led_by(*([differs] if differs else [])).about(about) from None
    except CheckFailure as error:
        raise error.about(about) from None
    except AssertionError as error:
        raise type(error)(f"{about}: {error}") from None
