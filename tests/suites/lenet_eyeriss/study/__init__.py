"""The study of lenet_eyeriss: LeNet-5 by an all-reduce of one's own, and by a ring."""

from .figures import figures
from .findings import findings
from .plan import points

__all__ = ["figures", "findings", "points"]
