"""What a suite is run for: one part of one submission, and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.data import Data
from grader.course.secret import PUBLIC_SECRET
from grader.grading_plugin.marks import Selection
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.report import Feedback
from grader.recording.journal import Journal
from grader.recording.launch_plan import LaunchPlan, Limits

Launcher = Callable[[LaunchPlan], LaunchResult]
"""Puts a plan to ranks, and returns what came of it."""


@dataclass(frozen=True)
class Position:
    """How far the tests of a part have come."""

    num_ended: int
    num_tests: int
    ranks: int
    """Of the launch that is about to start."""


@dataclass(frozen=True, kw_only=True)
class SuiteSettings:
    """How to run a suite, whatever the submission."""

    secret: bytes = PUBLIC_SECRET
    selection: Selection = field(default_factory=Selection)
    """Which tests to run; all of them for a mark."""
    data: Data = field(default_factory=Data)
    """The images that inputs may be made of."""
    shows_hidden: bool = False
    """Tell all about hidden tests; for the course, never for a report that students get."""
    journal: Journal = field(default_factory=Journal)
    """Is told what becomes of each test, and knows what became of them before."""
    on_position: Callable[[Position], None] = field(default=lambda position: None)
    """Is told how far the part has come that is being graded."""


@dataclass(frozen=True)
class PartContext:
    """One part of one submission under one suite."""

    assignment: str
    part: str
    entry: str
    backend: str
    probes: Mapping[str, str]
    limits: Limits
    submission: Mapping[str, bytes]
    support: Mapping[str, bytes]
    launch: Launcher
    settings: SuiteSettings = field(default_factory=SuiteSettings)
    windows: bool = False
    """Whether MPI's windows are allowed."""
    left_out: tuple[str, ...] = ()
    """Tests that only the course can judge by."""
    folders: tuple[str, ...] = ()
    """Those of the submission without files."""
    own_sources: Mapping[str, bytes] = field(default_factory=dict)
    """By path, the files of `submission` that the student wrote: their lines may be shown."""
    template: Path | None = None
    """What students start from; None where nobody knows."""
    own_part_replaced: str | None = None
    """The part whose file is our stand-in in this grading."""
    is_hidden: bool = False
    """The suite is one of hidden tests."""
    feedback: Feedback = Feedback.ALL
    """How much students are told of its tests."""
    has_ended: bool = False
    """Start no ranks: the part has ended in another suite."""
