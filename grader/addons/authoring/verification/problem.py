"""What a check of an assignment finds."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be, for the author."""

    subject: str
    """A file, a part, a labelled submission."""
    text: str
    """What was found, what was expected, and what to do."""
