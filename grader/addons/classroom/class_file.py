"""The file `class.toml`: rules of a course about lateness, who is who, and what is graded."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct, field

from grader.addons.classroom.hand_in_names import BEGIN_WITH_ASSIGNMENT, PLATFORMS
from grader.addons.classroom.policy import Policy
from grader.course import strict_toml
from grader.model.errors import GraderError, UsageError

NAME = "class.toml"

Text = Annotated[str, Meta(min_length=1, max_length=200, description="a text")]
Time = Annotated[datetime, Meta(description="a date and time such as 2026-11-20T23:59:00+01:00")]
Times = Annotated[dict[Text, Time], Meta(description="a table from an id or a group to a time")]
Share = Annotated[float, Meta(ge=0, le=1, description="a share from 0 to 1")]
Minutes = Annotated[int, Meta(ge=0, le=1440, description="a number of minutes from 0 to 1440")]
Days = Annotated[int, Meta(ge=1, le=366, description="a number of days from 1 to 366")]
Which = Annotated[str, Meta(pattern="^(last|best)$", description="last or best")]
Texts = Annotated[tuple[Text, ...], Meta(min_length=1, description="a list of texts")]
Files = Annotated[str | tuple[Text, ...], Meta(description="the name of a file, or a list of them")]
Teams = Annotated[
    dict[Text, Texts], Meta(description="a table from the name of a team to a list of ids")
]
Missing = Annotated[str, Meta(pattern="^(person|zero)$", description="person or zero")]
Platform = Annotated[
    str, Meta(pattern=rf"\A({'|'.join(PLATFORMS)})\Z", description=f"one of {', '.join(PLATFORMS)}")
]


class LateTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[late]`: what lateness costs."""

    per_day: Share = 0.0
    grace_min: Minutes = 0
    last_day: Days | None = None


class ClassFile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All that `class.toml` may say; each key may be left out."""

    assignment: Text | None = None
    parts: Texts | None = None
    """That the class was set, of those for tests and those for people; None for all."""
    platform: Platform = ""
    """That has delivered the hand-ins; empty where each is called by an id on the roster."""
    platform_assignment: Text = ""
    """What the assignment is called there, where names of hand-ins begin with that."""
    deadline: Time | None = None
    timezone: Text = "UTC"
    """Of times that a platform writes without one, and of a deadline without one."""
    counts: Which = "last"
    roster: Text | None = None
    """A file beside class.toml, as those of the next two."""
    times: Text | None = None
    marks: Files = ()
    not_handed_in: Missing = "person"
    """Who gives points for a file, or a whole hand-in, that is not there."""
    teams: Teams = field(default_factory=dict)
    late: LateTable = field(default_factory=LateTable)
    extensions: Times = field(default_factory=dict)

    @property
    def zone(self) -> tzinfo:
        """Return the time zone."""
        return UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)

    @property
    def mark_files(self) -> tuple[str, ...]:
        """Return the names of the files of marks."""
        return (self.marks,) if isinstance(self.marks, str) else self.marks

    @property
    def policy(self) -> Policy:
        """Return the rules."""
        return Policy(
            deadline=None if self.deadline is None else zoned(self.deadline, self.zone),
            grace=timedelta(minutes=self.late.grace_min),
            late_per_day=float(self.late.per_day),
            last_day=self.late.last_day,
            takes_best=self.counts == "best",
            extensions={key: zoned(at, self.zone) for key, at in self.extensions.items()},
        )


def read(file: Path) -> ClassFile:
    """Return what the file says. Raises UsageError with a sentence for each mistake."""
    try:
        return strict_toml.read(file, ClassFile, _mistakes)
    except GraderError as error:  # of a course it is nobody's usage; of this file it is
        raise UsageError(str(error)) from None


def zoned(at: datetime, zone: tzinfo) -> datetime:
    """Return a time with a zone."""
    return at if at.tzinfo is not None else at.replace(tzinfo=zone)


def _mistakes(table: strict_toml.Table) -> Iterator[str]:
    name = table.get("timezone")
    if name is not None and name != "UTC":
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            yield f"timezone: found {name!r:.40}; expected a name such as Europe/Zurich"
    platform, title = table.get("platform"), table.get("platform_assignment")
    if platform in BEGIN_WITH_ASSIGNMENT and not title:
        yield (
            f"platform_assignment: missing. Names on {platform} begin with the assignment's "
            "name there; write that name here"
        )
    if title and platform not in BEGIN_WITH_ASSIGNMENT:
        expected = " or ".join(BEGIN_WITH_ASSIGNMENT)
        yield f"platform_assignment: only platform = {expected} uses it; remove it"
    for key in ("late", "extensions"):
        if table.get(key) and not table.get("deadline"):
            yield f"{key}: only a deadline uses it; add one, or leave this out"
    if table.get("teams") and not table.get("roster"):
        yield "teams: only a roster uses them; name one, with the column id"
    yield from _too_early(table.get("deadline"), table.get("extensions"))


def _too_early(deadline: object, extensions: object) -> Iterator[str]:
    """Yield the extensions that shorten what everybody has: the later of both would count."""
    if not isinstance(deadline, datetime) or not isinstance(extensions, dict):
        return
    for key, at in extensions.items():
        is_comparable = isinstance(at, datetime) and bool(at.tzinfo) == bool(deadline.tzinfo)
        if is_comparable and at < deadline:
            yield (
                f"extensions.{key}: found {at.isoformat(' ')}, which is before the deadline; "
                "expected a later time"
            )
