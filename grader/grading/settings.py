"""How to grade, whatever is graded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.courses import Courses, find_courses
from grader.grading_plugin.part_context import Launcher, SuiteSettings
from grader.recording.launch_plan import LaunchPlan
from grader.recording.observation import LaunchObservation
from grader.recording.replay import Find


@dataclass(frozen=True, kw_only=True)
class Settings(SuiteSettings):
    """How to grade, whatever is graded; each suite is given the part of it that is about suites."""

    courses: Courses = field(default_factory=find_courses)
    """Whose assignments may be graded."""
    named_courses: tuple[Path, ...] = ()
    """The folders of courses that --course names."""
    mode: str = "local"
    """`local` or `container`; the report says so."""
    sealed: bool = False
    """Run the ranks as users of their own; needs root."""
    seed: str = ""
    """What the secret was drawn as for this grading; the course's report keeps it."""
    parts: Sequence[str] | None = None
    """Names of the only parts to grade; None for all."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    """Is told how far the grading has come, in words."""
    named: str | None = ""
    """The assignment as it was named; None where it was found out from the files."""
    launch: Launcher | None = None
    """How plans are put to ranks; None for a forkserver of this grading's own."""
    on_observed: Callable[[LaunchPlan, LaunchObservation], None] = field(
        default=lambda plan, observed: None
    )
    """Is told what was seen of each launch."""
    recorded: Find | None = None
    """Finds what was observed before, which is not put to ranks again."""
    grades_hidden: bool = True
    """Run hidden tests as well, where they are."""
    flags_are_ours: bool = False
    """`grade run` started the container we are in: every protection has to hold."""
    kernel_is_tried: bool = True
    """The selftest also makes attempts that end the same way until the machine reboots."""
    notes: tuple[str, ...] = ()
    """What the report is to say of the grading as a whole, before its own notes."""
