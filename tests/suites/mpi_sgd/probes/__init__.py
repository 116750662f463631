"""Rank-side calls of the student's functions for mpi_sgd; knows no right answer."""

from .long_delays import reduce_with_long_delays
from .mending import reduce_mended
from .reducing import (
    reduce_drawn,
    reduce_in_a_row,
    reduce_in_groups,
    reduce_long,
    reduce_once,
    reduce_watched,
)
from .training import fit, fit_beside_a_slow_worker
from .unwaited import reduce_unwaited
from .yardsticks import mpi_reduces_long, serial_fit

__all__ = [
    "fit",
    "fit_beside_a_slow_worker",
    "mpi_reduces_long",
    "reduce_drawn",
    "reduce_in_a_row",
    "reduce_in_groups",
    "reduce_long",
    "reduce_mended",
    "reduce_once",
    "reduce_unwaited",
    "reduce_watched",
    "reduce_with_long_delays",
    "serial_fit",
]
