"""Which ranks are neighbours: the usual topologies, each as a graph."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from math import prod

Graph = Mapping[int, AbstractSet[int]]
"""The neighbours of each rank: those that it sends to. A rank is no neighbour of its own."""


def ring_graph(num_ranks: int) -> Graph:
    """Return the graph in which rank r has the neighbours r - 1 and r + 1, modulo their number.

    On two ranks both are the same; a single rank has none.
    Raises ValueError for a number below 1.
    """
    return grid_graph((num_ranks,), periodic=True)


def grid_graph(shape: Sequence[int], *, periodic: bool | Sequence[bool] = False) -> Graph:
    """Return the graph of a Cartesian grid, of any number of dimensions.

    Ranks are numbered row by row, the last coordinate fastest, as by MPI_Cart_create (MPI 4.1,
    section 8.5.1). A rank has up to two neighbours a dimension, and none across corners; a row of
    ranks is `grid_graph((ranks,))`.

    shape: ranks along each dimension, such as (rows, columns). periodic: whether the first and the
    last are neighbours; one for all dimensions, or one each. Raises ValueError for a length below
    1, and for a number of dimensions that is not that of the shape.
    """
    wraps = [periodic] * len(shape) if isinstance(periodic, bool) else list(periodic)
    if not shape or min(shape) < 1 or len(wraps) != len(shape):
        raise ValueError(
            f"a grid of shape {tuple(shape)}, periodic {tuple(wraps)}: expected for each "
            "dimension a length of 1 or more, and True or False"
        )
    graph = {}
    for rank, place in enumerate(product(*map(range, shape))):
        around = set()
        for dimension, step in product(range(len(shape)), (-1, 1)):
            moved = place[dimension] + step
            if wraps[dimension] or 0 <= moved < shape[dimension]:
                stride = prod(shape[dimension + 1 :])
                around.add(rank + (moved % shape[dimension] - place[dimension]) * stride)
        graph[rank] = frozenset(around - {rank})
    return graph


def star_graph(num_ranks: int, *, root: int = 0) -> Graph:
    """Return the graph in which `root` is a neighbour of all others, and these of no other rank.

    Raises ValueError for a root that is none of the ranks.
    """
    if not 0 <= root < num_ranks:
        raise ValueError(f"a star around rank {root} of {num_ranks}: expected one of the ranks")
    others = frozenset(range(num_ranks)) - {root}
    return {rank: others if rank == root else frozenset({root}) for rank in range(num_ranks)}


def complete_graph(num_ranks: int) -> Graph:
    """Return the graph in which all ranks are neighbours of each other."""
    return {rank: frozenset(range(num_ranks)) - {rank} for rank in range(num_ranks)}


def edges_of(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield the directed edges (sender, receiver) of a graph: both ways where both may send."""
    for rank in sorted(graph):
        for neighbour in sorted(graph[rank]):
            yield rank, neighbour


def assert_graph_of(graph: Graph, num_ranks: int) -> None:
    """Raise ValueError unless a graph has exactly the ranks from 0 to num_ranks - 1."""
    known = set(graph).union(*graph.values())
    if set(graph) != set(range(num_ranks)) or known != set(graph):
        raise ValueError(
            f"a graph with neighbours of {sorted(graph)} among {sorted(known)}: expected those of "
            f"each rank from 0 to {num_ranks - 1}; make it for {num_ranks} ranks"
        )
