"""What a check raises when a submission does not hold: the exception names the verdict."""

from collections.abc import Sequence
from typing import Any, Self

from grader.model.evidence import Budget, Differences
from grader.model.finding import Finding, found, joined


class CheckFailure(AssertionError):
    """A check does not hold: what was found, of which the first names the cause."""

    differences: tuple[Differences, ...] = ()
    """What differs, where single elements of arrays do."""
    budgets: tuple[Budget, ...] = ()
    """What was more, or less, than the part allows."""

    def __init__(self, *findings: Finding | str, case: str = "") -> None:
        """case: of what this was seen, such as `3 ranks, length 7`."""
        self.findings = tuple(
            each if isinstance(each, Finding) else Finding("", each) for each in findings
        )
        self.case = case
        told = joined(self.findings)
        super().__init__(f"{case}: {told}" if case else told)

    @classmethod
    def of(cls, key: str, text: str, /, *, help: str = "", **facts: Any) -> Self:
        """Return the exception of one finding, given as to `found`."""
        return cls(found(key, text, help=help, **facts))

    @classmethod
    def at(
        cls, findings: Finding | str | Sequence[Finding], differences: Sequence[Differences]
    ) -> Self:
        """Return the exception with what differs, to be shown beside its sentences."""
        error = cls(*([findings] if isinstance(findings, Finding | str) else findings))
        error.differences = tuple(differences)
        return error

    @classmethod
    def over(cls, finding: Finding | str, budgets: Sequence[Budget]) -> Self:
        """Return the exception with the quantities that it is about."""
        error = cls(finding)
        error.budgets = tuple(budgets)
        return error

    def about(self, case: str) -> Self:
        """Return the same failure with the case that it was seen of."""
        return self._with(self.findings, f"{case}: {self.case}" if self.case else case)

    def led_by(self, *reasons: Finding) -> Self:
        """Return the same failure with these reasons before what was found."""
        return self._with((*reasons, *self.findings), self.case)

    def followed_by(self, *remarks: Finding) -> Self:
        """Return the same failure with these remarks after what was found."""
        return self._with((*self.findings, *remarks), self.case)

    def _with(self, findings: Sequence[Finding], case: str) -> Self:
        error = type(self)(*findings, case=case)
        error.differences, error.budgets = self.differences, self.budgets
        return error


class WrongAnswer(CheckFailure):
    """A value differs from the oracle's."""


class RuleViolation(CheckFailure):
    """The answer may be correct, but was not computed as the part requires."""


class BudgetExceeded(CheckFailure):
    """The work was done, but it took more time than the part allows."""


class NotProven(CheckFailure):
    """The evidence contradicts itself or is incomplete: the instructor reviews it."""
