"""Measures and draws studies: the figures and tables that a handout asks for.

What an assignment's own `study` may import; see docs/studies.md.
"""

from grader.model.plural import counted
from grader.study.figures import Chart, Dot, Figure, Series, Table
from grader.study.model import Network, amdahl_fraction, gustafson_fraction
from grader.study.plan import Extent, Launcher, Point
from grader.study.results import (
    FEWEST_RUNS,
    OF_COMMON_RUNS,
    Machine,
    Measurement,
    Results,
    Spread,
    compared,
)

__all__ = [
    "FEWEST_RUNS",
    "OF_COMMON_RUNS",
    "Chart",
    "Dot",
    "Extent",
    "Figure",
    "Launcher",
    "Machine",
    "Measurement",
    "Network",
    "Point",
    "Results",
    "Series",
    "Spread",
    "Table",
    "amdahl_fraction",
    "compared",
    "counted",
    "gustafson_fraction",
]
