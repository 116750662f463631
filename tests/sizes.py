"""Names each module that is too long to be read in one go; `make check` runs it.

`--report [FOLDER]` prints how large this checkout or another is: the lines of each package, how
packages depend on each other, options, and the packages that the image installs.
"""

import re
import sys
from collections import Counter
from pathlib import Path

import architecture

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


def structure(root):
    """Return what else there is to understand of a checkout: a line for each number."""
    engine = root / "grader"
    modules = [path for path in engine.rglob("*.py") if "new_assignment" not in path.parts]
    imported = architecture.imports(engine)
    try:
        circles = f"none, {len(architecture.levels(engine))} levels"
    except ValueError as error:
        circles = str(error)
    texts = [text for path in modules if "argparse" in (text := path.read_text())]
    options = {name for text in texts for name in re.findall(r"--[a-z][a-z-]+(?=[ \"])", text)}
    lock = root / "requirements.lock"
    pins = re.findall(r"^[\w.-]+==.*", lock.read_text(), re.MULTILINE) if lock.exists() else []
    installed = [pin for pin in pins if "extra ==" not in pin]
    rows = {
        "modules": len(modules),
        "loose modules": len([*engine.glob("[!_]*.py")]),
        "packages": len(imported),
        "imports between packages": sum(map(len, imported.values())),
        "circles of packages": circles,
        "options": len(options),
        "packages installed": len(installed),
    }
    return "\n".join(f"{name:<26}{number}" for name, number in rows.items())


def _lines(path):
    return len(path.read_bytes().splitlines())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--report"]:
        folder = Path(*sys.argv[2:3] or [ROOT])
        print(report(folder), structure(folder), sep="\n\n")
        sys.exit(0)
    found = complaints(ROOT, LONGER.keys())
    sys.exit("\n".join(found) if found else 0)
