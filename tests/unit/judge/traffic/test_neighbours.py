"""Topologies, and who is whose neighbour on them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judge.traffic.neighbours import (
    assert_graph_of,
    complete_graph,
    edges_of,
    grid_graph,
    ring_graph,
    star_graph,
)


def test_small_graphs():
    assert ring_graph(4) == {0: {1, 3}, 1: {0, 2}, 2: {1, 3}, 3: {0, 2}}
    assert ring_graph(2) == {0: {1}, 1: {0}}
    assert ring_graph(1) == {0: set()}
    assert grid_graph((3,)) == {0: {1}, 1: {0, 2}, 2: {1}}
    assert grid_graph((2, 3))[1] == {0, 2, 4}
    assert grid_graph((2, 3), periodic=(False, True))[0] == {1, 2, 3}
    assert star_graph(3, root=1) == {0: {1}, 1: {0, 2}, 2: {1}}
    assert complete_graph(3) == {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
    assert list(edges_of(star_graph(3))) == [(0, 1), (0, 2), (1, 0), (2, 0)]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=3),
)
def test_neighbours_on_a_grid_are_one_step_apart(dimensions):
    """Their coordinates differ by one in one dimension; around the edge where that is periodic."""
    shape, wraps = zip(*dimensions, strict=True)
    graph = grid_graph(shape, periodic=wraps)
    places = list(_coordinates(shape))
    for rank, place in enumerate(places):
        expected = set()
        for other, elsewhere in enumerate(places):
            distances = [
                min(abs(a - b), n - abs(a - b)) if wrap else abs(a - b)
                for a, b, n, wrap in zip(place, elsewhere, shape, wraps, strict=True)
            ]
            if sum(distances) == 1 and other != rank:
                expected.add(other)
        assert graph[rank] == expected
    assert_graph_of(graph, math.prod(shape))


def _coordinates(shape):
    """Yield the coordinates of each rank as MPI_Cart_coords has them: the last one is fastest."""
    for rank in range(math.prod(shape)):
        place = []
        for length in reversed(shape):
            rank, coordinate = divmod(rank, length)
            place.insert(0, coordinate)
        yield tuple(place)


@pytest.mark.parametrize(
    "make",
    [
        lambda: grid_graph(()),
        lambda: grid_graph((2, 0)),
        lambda: grid_graph((2, 2), periodic=(True,)),
        lambda: ring_graph(0),
        lambda: star_graph(2, root=2),
        lambda: assert_graph_of({0: {1}}, 2),
        lambda: assert_graph_of({0: {1}, 1: {2}}, 2),
    ],
)
def test_what_is_no_graph_is_refused(make):
    with pytest.raises(ValueError, match=r"expected|each dimension needs"):
        make()
