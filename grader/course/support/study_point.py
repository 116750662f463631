"""What a program of a study shares with who started it: its settings, and what it reports.

Lies beside the program; imports nothing of grader.
"""

import json
import os
from pathlib import Path
from typing import Any


def settings() -> dict[str, Any]:
    """Return the settings of the point, a dictionary; `repeat` counts its runs from 0."""
    found: dict[str, Any] = json.loads(os.environ["GRADER_STUDY_SETTINGS"])
    return found


def report(rank: int = 0, **values: object) -> None:
    """Hand over what this rank has measured: numbers, texts, lists of them. Call it once, last."""
    folder = Path(os.environ["GRADER_STUDY_REPORTS"])
    unfinished = folder / f"{rank}.unfinished"
    unfinished.write_text(json.dumps(values))
    unfinished.rename(folder / f"{rank}.json")
