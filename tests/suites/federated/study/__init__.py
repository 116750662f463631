"""The study of federated: five ways to train one network, and what unlike clients cost."""

from .figures import figures
from .findings import findings
from .plan import points

__all__ = ["figures", "findings", "points"]
