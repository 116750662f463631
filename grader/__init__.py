"""Marks distributed machine-learning assignments and says what went wrong."""

from importlib import import_module
from os import PathLike
from typing import Any

__version__ = "0.2.4"


def check(part: str | None = None, submission: str | PathLike[str] = ".") -> Any:
    """Check a part, or all parts, from a cell of a notebook: `grader.check("ring_allreduce")`.

    What is graded are the files in the folder `submission`, so save first. Returns a CellCheck,
    which a notebook shows as a page. Raises UsageError, GraderError where nothing is graded.
    """
    # By name: all of the engine imports this module, and it is no part of the engine's layers.
    return import_module("grader.commands.cell_check").check(part, submission)
