"""Grades submissions of one assignment, one after the other, with one forkserver."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.course.assignment import Assignment
from grader.course.course import Course
from grader.course.courses import Courses
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.judge.explanation.launch_result import explaining
from grader.model.report import Report
from grader.recording.observation import Observer


@dataclass(frozen=True)
class Grader:
    """Grades submissions of one assignment, all with one forkserver."""

    course: Course
    assignment: Assignment
    settings: Settings
    observe: Observer
    """What puts plans to ranks."""
    progress: Callable[[str], None]

    def grade(self, folder: Path, *parts: str, **changes: object) -> Report:
        """Grade a folder, all parts of it or these. Raises UsageError, GraderError."""
        return pipeline.grade(
            folder,
            assignment=self.assignment.name,
            parts=parts or None,
            settings=replace(self.settings, **changes),  # type: ignore[arg-type] # as Settings says
        )


def grader_of(
    course: Course,
    assignment: Assignment,
    observe: Observer,
    progress: Callable[[str], None] = lambda text: None,
) -> Grader:
    """Return what grades submissions of an assignment of a course."""
    settings = Settings(
        courses=Courses((course,)),
        launch=explaining(observe),
        # What a label says holds for those as well who do not have the hidden tests.
        grades_hidden=False,
    )
    return Grader(course, assignment, settings, observe, progress)
