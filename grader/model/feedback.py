"""How much a student is told of a test."""

from enum import StrEnum


class Feedback(StrEnum):
    """Each level tells all that those before it tell."""

    VERDICT = "verdict"
    """The name of the test, its verdict and points."""
    SENTENCE = "sentence"
    """Also what it asks for."""
    VALUES = "values"
    """Also why it has not held, with the case and the values."""
    ALL = "all"
    """Also tracebacks, output and pictures."""

    def tells(self, level: "Feedback") -> bool:
        """Return whether this level tells what that one does."""
        levels = list(Feedback)
        return levels.index(self) >= levels.index(level)
