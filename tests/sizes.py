"""Names each module that is too long to be read in one go; `make check` runs it.

`--report [FOLDER]` prints how many lines each package of this checkout, or another, has.
"""

import sys
from collections import Counter
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


def report(root):
    """Return how many lines of Python and C each package of the engine has, and the tests."""
    counted = {".py": Counter(), ".c": Counter(), ".h": Counter()}
    for path in sorted((root / "grader").rglob("*")):
        if path.suffix in counted and path.is_file():
            parts = path.relative_to(root / "grader").parts
            counted[path.suffix][parts[0] if len(parts) > 1 else "(loose)"] += _lines(path)
    python, c = counted[".py"], counted[".c"] + counted[".h"]
    rows = [(name, python[name], c[name]) for name in sorted(python | c)]
    rows.append(("the engine", python.total(), c.total()))
    tests = [path for path in (root / "tests").rglob("*.py") if path.is_file()]
    rows.append(("tests", sum(map(_lines, tests)), 0))
    return "\n".join(f"{name:<16}{num_python:>8,}{num_c:>8,}" for name, num_python, num_c in rows)


def _lines(path):
    return len(path.read_bytes().splitlines())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--report"]:
        print(report(Path(*sys.argv[2:3] or [ROOT])))
        sys.exit(0)
    found = complaints(ROOT, LONGER.keys())
    sys.exit("\n".join(found) if found else 0)
