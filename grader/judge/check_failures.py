"""What a check raises when a submission does not hold: the exception names the verdict."""

from grader.evidence import Budget, Differences


class WrongAnswer(AssertionError):
    """A value differs from the oracle's."""

    differences: tuple[Differences, ...] = ()
    """What differs, where single elements of arrays do."""

    @classmethod
    def at(cls, message: str, differences: tuple[Differences, ...]) -> "WrongAnswer":
        """Return the exception with what differs, to be shown beside its message."""
        error = cls(message)
        error.differences = differences
        return error


class RuleViolation(AssertionError):
    """The right answer may have been reached, but not by the way the part asks for."""

    budgets: tuple[Budget, ...] = ()
    """What was more, or less, than the part allows, to be shown beside the message."""

    @classmethod
    def over(cls, message: str, budgets: tuple[Budget, ...]) -> "RuleViolation":
        """Return the exception with the quantities that it is about."""
        error = cls(message)
        error.budgets = budgets
        return error


class BudgetExceeded(AssertionError):
    """The work was done, but it took more time than the part allows."""

    budgets: tuple[Budget, ...] = ()
    """The same for times."""

    @classmethod
    def over(cls, message: str, budgets: tuple[Budget, ...]) -> "BudgetExceeded":
        """Return the exception with the times that it is about."""
        error = cls(message)
        error.budgets = budgets
        return error


class NotProven(AssertionError):
    """The evidence contradicts itself or is incomplete: a person has to look."""
