"""The study of mpi_sgd: what its sheet wants measured."""

from .findings import findings
from .plan import points
from .reducing_figures import reducing_figures
from .training_figures import training_figures


def figures(results):
    """Return all charts and tables."""
    return [*training_figures(results), *reducing_figures(results)]


__all__ = ["figures", "findings", "points"]
