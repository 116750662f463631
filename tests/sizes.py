"""Names each module that is too long to be read in one go; `make check` runs it."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("grader", "reference", "tests/suites")
MOST_LINES = {".c": 300, ".h": 300, ".py": 500}
LONGER: dict[str, str] = {}
"""Modules that may be longer, and why."""


def complaints(root, longer):
    """Return a sentence for each module that is too long, and each exception that is not needed."""
    lines = {
        path.relative_to(root).as_posix(): len(path.read_text().splitlines())
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in MOST_LINES
    }
    most = {name: MOST_LINES[Path(name).suffix] for name in lines}
    too_long = {name for name, number in lines.items() if number > most[name]}
    return [
        *(
            f"{name} has {lines[name]} lines, {most[name]} are the most: "
            "split it by what it is about"
            for name in sorted(too_long - longer)
        ),
        *(
            f"{name} is not too long any more, or not there: "
            "take it out of LONGER in tests/sizes.py"
            for name in sorted(longer - too_long)
        ),
    ]


if __name__ == "__main__":
    found = complaints(ROOT, LONGER.keys())
    sys.exit("\n".join(found) if found else 0)
