"""The keys of `assignment.toml`; `make docs` writes docs/assignment-file.md from them."""

from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from grader.course import cross_references, strict_toml
from grader.model.points import MAX_POINTS
from grader.model.report import BACKENDS, Feedback

_SEGMENT = r"[^/\\.\x00-\x1f][^/\\\x00-\x1f]*"
_HIDDEN = r"(?!hidden|test_hidden)"

Name = Annotated[
    str,
    Meta(
        pattern=strict_toml.NAME,
        description=(
            "a name of lower-case letters, digits, and underscores that begins with a letter"
        ),
    ),
]
Line = Annotated[str, Meta(pattern=r"\A\S[^\n\r]*\Z", description="a string of one line")]
Lines = Annotated[tuple[Line, ...], Meta(description="a list of strings, one line each")]
FilePath = Annotated[
    str,
    Meta(
        pattern=rf"\A{_SEGMENT}(/{_SEGMENT})*\Z",
        description="the path of a file, such as part1/main.py, in which no name begins with a dot",
    ),
]
FilePaths = Annotated[tuple[FilePath, ...], Meta(description="a list of file paths")]
AskedFiles = Annotated[
    tuple[FilePath, ...], Meta(min_length=1, description="a list of at least one file path")
]
SuiteFile = Annotated[
    str,
    Meta(
        pattern=rf"\A{_HIDDEN}{_SEGMENT}(/{_HIDDEN}{_SEGMENT})*\.py\Z",
        description=(
            "the path of a .py file in the assignment's folder; its name must not begin with "
            "`hidden`, because the student image omits such files"
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
TestNames = Annotated[tuple[Name, ...], Meta(description="a list of test names")]
Modules = Annotated[tuple[Module, ...], Meta(description="a list of module names")]
Backend = Annotated[str, Meta(description=f"one of {', '.join(BACKENDS)}")]
Level = Annotated[Feedback, Meta(description=f"one of {', '.join(Feedback)}")]
Points = Annotated[
    float, Meta(ge=0, le=MAX_POINTS, description=f"a number of points from 0 to {MAX_POINTS}")
]
Seconds = Annotated[
    float, Meta(gt=0, le=3600, description="a number of seconds, more than 0 and at most 3600")
]
PartSeconds = Annotated[
    float, Meta(gt=0, le=86400, description="a number of seconds, more than 0 and at most 86400")
]
Pages = Annotated[int, Meta(ge=1, le=1000, description="a number of pages from 1 to 1000")]
AcceptedNames = Annotated[
    dict[FilePath, AskedFiles],
    Meta(description="a table that maps a file to a list of other names"),
]
StandIn = Annotated[
    dict[FilePath, SuiteFile],
    Meta(
        min_length=1,
        description="a table that maps at least one file to the path of the course's version of it",
    ),
]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """One gradable piece of an assignment: what a `[[parts]]` says."""

    name: Name
    """The name for `--part` and reports; no other part or manual part may have it."""
    title: Line
    """The title in reports."""
    files: AskedFiles = field(name="file")
    """The files that a student hands in for it; several parts may ask for the same file."""
    entry: Line
    """The call that is graded, as the handout writes it."""
    suite: SuiteFile
    """The file of its tests; no other part may use it."""
    points: Points
    """What its tests are worth together."""
    backend: Backend
    """What connects its ranks; see the table of backends."""
    case_time_limit_s: Seconds
    """How long a rank may take for one case, not counting time that the machine gives to other
    programs; a case with more work has its own limit: `Case.time_limit_s`."""
    part_time_limit_s: PartSeconds | None = None
    """How long all runs of the part may take together, by the clock; by default 90 times
    `case_time_limit_s`, but at least 1800."""
    builds_on: Name | None = None
    """Another part, whose file this one may use. If that part has lost points, this one is graded
    with the course's version of it as well, and the better mark counts. Only with
    `stand_in`."""
    stand_in: StandIn | None = None
    """The course's version of files of the part that it builds on. Only with `builds_on`."""
    accepted_names: AcceptedNames = {}
    """Other names under which a file of the part may be handed in; it is graded under the
    first. A name stands for one file only."""
    rules: Lines = ()
    """The rules that a solution must follow besides being correct, for the list of parts."""
    windows: bool = False
    """Allow MPI's windows. Ranks share them as memory: no rule sees what is written there,
    and altering messages proves less."""
    hidden_points: Points = 0
    """What the tests of `hidden_<name>.py` are worth together, on top of `points`."""
    course_only: TestNames = ()
    """Tests that the students' edition leaves out, because they need a file that it does not
    have. Its reports do not count their points and say that the course grades them. At least
    one test stays."""
    feedback: Level | None = None
    """How much reports tell students about its tests: `verdict`, `sentence` (what a test asks for),
    `values` (why it failed) or `all` (tracebacks, output, pictures); by default what
    `course.toml` says, else `all`."""
    hidden_feedback: Level | None = None
    """The same for its hidden tests; by default what `course.toml` says, else `verdict`."""

    @property
    def hidden_suite(self) -> str:
        """Return the file of the hidden tests, which only the course has."""
        return f"hidden_{self.name}.py"


class RubricLine(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person gives some of the points for: what a `[[manual.rubric]]` says."""

    points: Points
    """What this line is worth."""
    asked: Line
    """What is asked."""


class Manual(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece that a person marks: what a `[[manual]]` says."""

    name: Name
    """The name in reports; no other part or manual part may have it."""
    title: Line
    """The title in reports."""
    points: Points
    """The most points that it can earn."""
    file: FilePath
    """The PDF with the answer; several may share one."""
    other_names: FilePaths = ()
    """Other accepted names; the first one that was handed in counts."""
    max_pages: Pages | None = None
    """How many pages are read; a report says if there are more."""
    rubric: Annotated[tuple[RubricLine, ...], Meta(description="tables [[manual.rubric]]")] = ()
    """What earns the points: lines of `points` and `asked`, a string of one line; their points
    add up to `points`."""


class AssignmentTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a file says; see grader.course.assignment.Assignment."""

    name: Name | None = None
    """Its name in `--assignment`; if given, it must be the name of the folder."""
    title: Line
    """The title in reports and in the list of assignments."""
    parts: Annotated[
        tuple[Part, ...], Meta(min_length=1, description="a table [[parts]], at least one")
    ]
    """What is graded, in the order of the handout; at least one."""
    manual: Annotated[tuple[Manual, ...], Meta(description="tables [[manual]]")] = ()
    """What is graded by hand, in the order of the handout."""
    support: FilePaths = ()
    """Files that always come from the course, whatever was handed in under these names: from
    the template, the reference, or `grader/course/support`."""
    students: FilePaths = ()
    """Files of this folder that students get, besides this one; by default all that are
    not hidden. A file of the same path in the folder `students` replaces it. Check that none
    of them can be handed in as a solution."""
    needs: Modules = ()
    """The modules that ranks import besides numpy and mpi4py; imported once for all ranks."""
    source: Line | None = None
    """The exercise that it is based on, for the list of assignments."""


def read(file: Path, name: str) -> AssignmentTable:
    """Return what an `assignment.toml` says. Raises GraderError with all its mistakes."""
    disagreements = partial(cross_references.disagreements, name=name, folder=file.parent)
    return strict_toml.read(file, AssignmentTable, disagreements)
