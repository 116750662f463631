"""What a check raises when a submission does not hold: the exception names the verdict."""


class WrongAnswer(AssertionError):
    """A value differs from the oracle's."""


class RuleViolation(AssertionError):
    """The right answer may have been reached, but not by the way the part asks for."""


class BudgetExceeded(AssertionError):
    """The work was done, but it took more time than the part allows."""


class NotProven(AssertionError):
    """The evidence contradicts itself or is incomplete: a person has to look."""
