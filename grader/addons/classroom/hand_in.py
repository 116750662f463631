"""The nouns of a class: what came in, from whom, and what came of grading it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class HandIn:
    """One submission as a platform has delivered it."""

    label: str
    """Its name in the folder of the class, without the name of a file in it."""
    who: Mapping[str, str]
    """What the platform says of its author, by column of the roster: `{"moodle": "12345"}`."""
    path: Path
    """The folder or archive to grade."""
    digest: str
    """SHA-256 over names and contents of all its files, as they came."""
    submitted_at: datetime | None = None
    """With a time zone; None where nobody says."""
    is_called_late: bool = False
    """The platform says that it is late."""
    sent_as: str = ""
    """How the name of feedback begins, where that is not the label."""
    is_of_namesakes: bool = False
    """Somebody else has handed in under the same name: the number alone tells whose it is."""
    other_authors: tuple[Mapping[str, str], ...] = ()
    """Of a group that the platform knows."""


@dataclass(frozen=True)
class Unreadable:
    """Something in the folder of the class that could not become a hand-in."""

    hand_in: HandIn
    """What is known of it; without a digest."""
    reason: str
    """One sentence."""

    @property
    def label(self) -> str:
        """Return its name in the folder of the class."""
        return self.hand_in.label


@dataclass(frozen=True)
class Student:
    """One line of the roster."""

    id: str
    known_as: Mapping[str, str]
    """Names and numbers on platforms, by column; `name` and `email` among them."""
    group: str = ""
    """What one of a group hands in counts for each of them; empty for nobody else."""

    @property
    def name(self) -> str:
        """Return the name, or the id where the roster has none."""
        return self.known_as.get("name") or self.id
