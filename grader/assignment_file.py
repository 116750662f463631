"""The keys of `assignment.toml` and their types; docs/assignment-file.md says what they mean."""

from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from grader import cross_references, strict_toml
from grader.feedback import Feedback
from grader.model import BACKENDS
from grader.points import MAX_POINTS

_SEGMENT = r"[^/\\.\x00-\x1f][^/\\\x00-\x1f]*"
_HIDDEN = r"(?!hidden|test_hidden)"

Name = Annotated[
    str,
    Meta(
        pattern=strict_toml.NAME,
        description="a name of small letters, digits and underscores that begins with a letter",
    ),
]
Line = Annotated[str, Meta(pattern=r"\A\S[^\n\r]*\Z", description="a text of one line")]
Lines = Annotated[tuple[Line, ...], Meta(description="a list of texts, a line each")]
FilePath = Annotated[
    str,
    Meta(
        pattern=rf"\A{_SEGMENT}(/{_SEGMENT})*\Z",
        description="the path of a file such as part1/main.py, with no name that begins with a dot",
    ),
]
FilePaths = Annotated[tuple[FilePath, ...], Meta(description="a list of paths of files")]
AskedFiles = Annotated[
    tuple[FilePath, ...], Meta(min_length=1, description="a list of paths of files, at least one")
]
SuiteFile = Annotated[
    str,
    Meta(
        pattern=rf"\A{_HIDDEN}{_SEGMENT}(/{_HIDDEN}{_SEGMENT})*\.py\Z",
        description=(
            "the path of a .py file in the assignment's folder; its name must not begin with "
            "hidden, because the student image leaves such files out"
        ),
    ),
]
Module = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z",
        description="the name of a module such as torch.nn",
    ),
]
TestNames = Annotated[tuple[Name, ...], Meta(description="a list of names of tests")]
Modules = Annotated[tuple[Module, ...], Meta(description="a list of names of modules")]
Backend = Annotated[str, Meta(description=f"one of {', '.join(BACKENDS)}")]
Level = Annotated[Feedback, Meta(description=f"one of {', '.join(Feedback)}")]
Points = Annotated[
    float,
    Meta(ge=0, le=MAX_POINTS, description=f"a number of points from 0 to {MAX_POINTS}"),
]
Seconds = Annotated[
    float,
    Meta(gt=0, le=3600, description="a number of seconds, more than 0 and at most 3600"),
]
PartSeconds = Annotated[
    float,
    Meta(gt=0, le=86400, description="a number of seconds, more than 0 and at most 86400"),
]
Pages = Annotated[int, Meta(ge=1, le=1000, description="a number of pages from 1 to 1000")]
AcceptedNames = Annotated[
    dict[FilePath, AskedFiles], Meta(description="a table from a file to a list of other names")
]
StandIn = Annotated[
    dict[FilePath, SuiteFile],
    Meta(min_length=1, description="a table from a file to the path of ours, at least one"),
]


class PartTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a `[[parts]]` says; see grader.assignment.Part."""

    name: Name
    title: Line
    files: AskedFiles = field(name="file")
    entry: Line
    suite: SuiteFile
    points: Points
    backend: Backend
    case_time_limit_s: Seconds
    part_time_limit_s: PartSeconds | None = None
    builds_on: Name | None = None
    stand_in: StandIn | None = None
    accepted_names: AcceptedNames = {}
    rules: Lines = ()
    windows: bool = False
    hidden_points: Points = 0
    course_only: TestNames = ()
    feedback: Level | None = None
    hidden_feedback: Level | None = None


class RubricTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a `[[manual.rubric]]` says; see grader.assignment.RubricLine."""

    points: Points
    asked: Line


class ManualTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a `[[manual]]` says; see grader.assignment.Manual."""

    name: Name
    title: Line
    points: Points
    file: FilePath
    other_names: FilePaths = ()
    max_pages: Pages | None = None
    rubric: Annotated[tuple[RubricTable, ...], Meta(description="tables [[manual.rubric]]")] = ()


class AssignmentTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a file says; see grader.assignment.Assignment."""

    name: Name | None = None
    title: Line
    parts: Annotated[
        tuple[PartTable, ...], Meta(min_length=1, description="a table [[parts]], at least one")
    ]
    manual: Annotated[tuple[ManualTable, ...], Meta(description="tables [[manual]]")] = ()
    support: FilePaths = ()
    students: FilePaths = ()
    needs: Modules = ()
    source: Line | None = None


def read(file: Path, name: str) -> AssignmentTable:
    """Return what the `assignment.toml` of the assignment of this name says.

    Raises GraderError with a sentence for each of its mistakes.
    """
    disagreements = partial(cross_references.disagreements, name=name, folder=file.parent)
    return strict_toml.read(file, AssignmentTable, disagreements)
