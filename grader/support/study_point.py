"""What a program of a study shares with who started it: its settings, and what it reports.

Lies beside the program; imports nothing of grader.
"""

import json
import os
from pathlib import Path


def settings():
    """Return the settings of the point, a dictionary; `repeat` counts its runs from 0."""
    return json.loads(os.environ["GRADER_STUDY_SETTINGS"])


def report(rank=0, **values):
    """Hand over what this rank has measured: numbers, texts, lists of them. Call it once, last."""
    folder = Path(os.environ["GRADER_STUDY_REPORTS"])
    unfinished = folder / f"{rank}.unfinished"
    unfinished.write_text(json.dumps(values))
    unfinished.rename(folder / f"{rank}.json")
