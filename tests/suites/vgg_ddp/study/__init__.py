"""The study of vgg_ddp: VGG-11 five ways, on one, two and four nodes."""

from .figures import figures
from .findings import findings
from .plan import points

__all__ = ["figures", "findings", "points"]
