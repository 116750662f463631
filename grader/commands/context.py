"""What every command asks of its options and its environment."""

import argparse
import os
from collections.abc import Mapping

from grader.courses import Courses, find_courses


def courses_of(options: argparse.Namespace) -> Courses:
    """Return the courses that a command knows. Raises UsageError, GraderError."""
    return find_courses(getattr(options, "course", ()))


def is_sealed(environment: Mapping[str, str]) -> bool:
    """Return whether we are in the container that grades: ranks are users of their own."""
    return environment.get("GRADER_SEALED") == "1" and os.geteuid() == 0
