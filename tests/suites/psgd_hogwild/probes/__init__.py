"""Rank-side calls of the student's functions for psgd_hogwild; knows no right answer."""

from .digits import train_on_digits
from .network import run_layers, run_network
from .slow_batches import train_psgd
from .sources import read_sources
from .training import train_hogwild, train_psgd_apart

__all__ = [
    "read_sources",
    "run_layers",
    "run_network",
    "train_hogwild",
    "train_on_digits",
    "train_psgd",
    "train_psgd_apart",
]
