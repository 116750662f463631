"""The study of psgd_hogwild: time, speed-up and accuracy on one to five processes."""

from .figures import figures
from .findings import findings
from .plan import points

__all__ = ["figures", "findings", "points"]
