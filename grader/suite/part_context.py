"""What a suite is run for: one part of one submission, and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grader.data import Data
from grader.journal import Journal
from grader.runner.launch_plan import LaunchPlan, LaunchResult, Limits
from grader.suite.selection import Selection


@dataclass(frozen=True)
class Position:
    """How far the tests of a part have come."""

    num_ended: int
    num_tests: int
    ranks: int
    """Of the launch that is about to start."""


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
    secret: bytes
    launch: Callable[[LaunchPlan], LaunchResult]
    own_part_replaced: str | None = None
    """The part whose file is our stand-in in this grading."""
    progress: Callable[[Position], None] = field(default=lambda position: None)
    selection: Selection = field(default_factory=Selection)
    data: Data = field(default_factory=Data)
    """The images that inputs may be made of."""
    is_hidden: bool = False
    """The suite is one of hidden tests."""
    shows_hidden: bool = False
    """Tell all about hidden tests, too; otherwise no more than name and verdict leaves here."""
    has_ended: bool = False
    """Start no ranks: the part has ended in another suite."""
    journal: Journal = field(default_factory=Journal)
    """Is told what becomes of each test, and knows what became of them before."""
