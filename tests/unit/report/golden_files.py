"""Compares a text with the one in golden/, or rewrites that one when asked to.

GRADER_WRITE_GOLDEN=1 python -m pytest tests/unit/report
"""

import os
from pathlib import Path

_FOLDER = Path(__file__).with_name("golden")
IS_WRITING = os.environ.get("GRADER_WRITE_GOLDEN") == "1"


def assert_golden(text: str, name: str) -> None:
    file = _FOLDER / name
    if IS_WRITING:
        file.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == file.read_text(encoding="utf-8")
