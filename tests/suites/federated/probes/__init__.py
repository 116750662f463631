"""Rank-side calls of the student's scripts for federated; knows no right answer."""

from .aggregation import aggregate
from .formulas import closed_forms
from .scripts import begin, train
from .serial import serial_training

__all__ = ["aggregate", "begin", "closed_forms", "serial_training", "train"]
