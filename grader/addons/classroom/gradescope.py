"""What Gradescope tells beside the submissions that it exports: submission_metadata.yml."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from grader.addons.classroom.hand_in import HandIn
from grader.model.errors import UsageError

_FILE = "submission_metadata.yml"
_MAX_NUM_BYTES = 64 << 20


@dataclass(frozen=True)
class Facts:
    """What the table says of one submission."""

    authors: tuple[Mapping[str, str], ...]
    submitted_at: datetime | None


def read(folder: Path, zone: tzinfo) -> Mapping[str, Facts]:
    """Return the facts of each submission by the name of its folder; none without the file.

    zone: of times without one. Raises UsageError for a file that is not as Gradescope writes it.
    """
    file = folder / _FILE
    if not file.exists():
        return {}
    import yaml

    try:
        with file.open("rb") as stream:
            data = yaml.safe_load(stream.read(_MAX_NUM_BYTES))
        return {str(name): _facts(entry, zone) for name, entry in data.items()}
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise UsageError(
            f"{file} is not an export of Gradescope: expected a table of submissions with "
            ":submitters: and :created_at:; export the submissions again, or remove the file"
        ) from None


def with_facts(hand_in: HandIn, facts: Facts | None) -> HandIn:
    """Return the hand-in with its authors and its time."""
    if facts is None or not facts.authors:
        return hand_in
    first, *others = facts.authors
    return replace(
        hand_in,
        who={**hand_in.who, **first},
        other_authors=tuple(others),
        submitted_at=facts.submitted_at or hand_in.submitted_at,
    )


def _facts(entry: Mapping[str, Any], zone: tzinfo) -> Facts:
    """Return the facts of an entry; keys are Ruby's symbols, with a colon before them."""
    authors = tuple(
        {
            column: str(each[key])
            for column, key in (("name", ":name"), ("id", ":sid"), ("email", ":email"))
            if each.get(key)
        }
        for each in entry[":submitters"]
    )
    return Facts(authors, _time(entry.get(":created_at"), zone))


def _time(value: object, zone: tzinfo) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=zone)
