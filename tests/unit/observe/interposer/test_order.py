"""The files of the interposer stand on each other in the order that headers.h says."""

import re
from pathlib import Path

from grader.observe.interposer import build

_SOURCE = Path(build.__file__).parent / "sources"
_GENERATED = {"functions.h", "wrappers.c"}


def lines_of(text):
    """Return the files of each line of the list, without endings."""
    return [line.split() for line in re.findall(r"^ \*     (\w[\w ]*)$", text, re.M)]


def breaches(order, includes):
    """Return each include that goes to a line that is not above; of files by their names."""
    line_of = {name: number for number, names in enumerate(order) for name in names}
    return [
        (name, included)
        for name, included in includes
        if name != included and line_of[included] >= line_of[name]
    ]


def test_a_file_includes_what_is_above_it():
    """So there is no circle, and whoever reads from the top has read all that a file needs."""
    order = lines_of((_SOURCE / "headers.h").read_text())
    files = [path for path in _SOURCE.iterdir() if path.suffix in (".c", ".h")]
    assert {path.stem for path in files} | {"wrappers"} == {name for line in order for name in line}
    includes = [
        (path.stem, Path(included).stem)
        for path in files
        for included in re.findall(r'^#include "(.*)"$', path.read_text(), re.M)
        if included not in _GENERATED
    ]
    assert len(includes) > 100
    assert breaches(order, includes) == []


def test_a_circle_is_found():
    """Beside a file is not above it, either."""
    order = [["low"], ["left", "right"]]
    assert breaches(order, [("left", "low"), ("left", "left")]) == []
    assert breaches(order, [("low", "left")]) == [("low", "left")]
    assert breaches(order, [("left", "right")]) == [("left", "right")]
