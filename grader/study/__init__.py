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

_MODULES = {"figures", "model", "plan", "results"}
__all__ = [each for each in dir() if each[0].isalpha() and each not in _MODULES]
