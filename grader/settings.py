"""How to grade, whatever is graded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from grader.courses import Courses, find_courses
from grader.data import Data
from grader.journal import Journal
from grader.runner.launch_plan import LaunchPlan, LaunchResult
from grader.runner.rank_host import LocalHost, RankHost
from grader.suite.inputs import PUBLIC_SECRET
from grader.suite.part_context import Position
from grader.suite.selection import Selection


@dataclass(frozen=True)
class Settings:
    """How to grade, whatever is graded."""

    courses: Courses = field(default_factory=find_courses)
    """Whose assignments may be graded."""
    mode: str = "local"
    sealed: bool = False
    """Run the ranks as users of their own; needs root."""
    secret: bytes = PUBLIC_SECRET
    parts: Sequence[str] | None = None
    """Names of the only parts to grade; None for all."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    """Is told how far the grading has come, in words."""
    on_position: Callable[[Position], None] = field(default=lambda position: None)
    """Is told how far the part has come that is being graded."""
    selection: Selection = field(default_factory=Selection)
    """Which tests to run; all of them for a mark."""
    data: Data = field(default_factory=Data)
    """The images that inputs may be made of."""
    is_recognised: bool = False
    """The assignment was found out from the files, for want of its name."""
    launch: Callable[[LaunchPlan], LaunchResult] | None = None
    """How plans are put to ranks; None for a fork server of this grading's own."""
    on_launched: Callable[[LaunchPlan, LaunchResult], None] | None = None
    """Is told what came of each launch, with the traces of its cases; None where nobody asks."""
    rank_host: RankHost = field(default_factory=LocalHost)
    """Where the ranks run."""
    grades_hidden: bool = True
    """Run hidden tests as well, where they are."""
    shows_hidden: bool = False
    """Tell all about hidden tests; for the course, never for a report that students get."""
    flags_are_ours: bool = False
    """`grade run` started the container we are in: every protection has to hold."""
    notes: tuple[str, ...] = ()
    """What the report is to say of the grading as a whole, before its own notes."""
    journal: Journal = field(default_factory=Journal)
    """Is told what becomes of each test, and knows what became of them before."""
