"""A small stand-in for torchvision: the dataset and the transforms of this assignment, offline."""

from . import datasets, transforms

__all__ = ["datasets", "transforms"]
