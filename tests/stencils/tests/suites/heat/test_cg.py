"""Conjugate gradient for a tridiagonal system, by rows."""

from dataclasses import dataclass

import numpy as np
import pytest

from grader.api import (
    Array,
    Case,
    assert_bytes_per_edge,
    assert_collective_size,
    assert_collectives_per_iteration,
    assert_every_rank,
    assert_neighbours,
    case_context,
    edges_of,
    grid_graph,
    part,
    points,
)

pytestmark = [part("cg"), pytest.mark.mpi]

LENGTH = 120
"""Of each rank's part: longer than what a pickle adds to a number."""


@dataclass(frozen=True, kw_only=True)
class Iterations(Case):
    """One call of solve."""

    probe: str = "solve"
    num_iterations: int

    @property
    def label(self):
        """Return the words that name this case to a student."""
        return f"{self.num_iterations} iterations{self.perturbation}"

    def inputs(self, random, ranks, data):
        """Return one part of b a rank."""
        return [
            {"b": random.normal(size=LENGTH), "num_iterations": self.num_iterations}
            for _ in range(ranks)
        ]

    def results(self, rank, ranks):
        """Return the form of what comes back."""
        return {"x": Array("float64", (LENGTH,))}


CASES = (Iterations(num_iterations=4), Iterations(num_iterations=9))


def expected_parts(case, outcome):
    """Return each rank's part of x, by iterations on the whole vector."""
    residual = np.concatenate([each["b"] for each in outcome.inputs])
    x, direction = np.zeros_like(residual), residual
    for _ in range(case.num_iterations):
        image = 2.5 * direction - np.convolve(direction, (1, 0, 1), mode="same")
        step = residual @ residual / (direction @ image)
        x = x + step * direction
        following = residual - step * image
        direction = following + following @ following / (residual @ residual) * direction
        residual = following
    return np.split(x, outcome.ranks)


@points(4)
@pytest.mark.parametrize("ranks", [2, 4])
def test_solution_is_right(run, ranks):
    """Each rank gives back its part of what the iterations make of b."""
    for case, outcome in run(ranks, CASES):
        with case_context(case, outcome):
            for rank, x in enumerate(expected_parts(case, outcome)):
                assert_every_rank([outcome["x"][rank]], equals=x, atol=1e-9)


@points(2)
def test_two_sums_an_iteration(run):
    """An iteration has two sums over the ranks, and no other collective."""
    traces = {case.num_iterations: outcome.trace for case, outcome in run(4, CASES)}
    assert_collectives_per_iteration(traces, 2)


@points(2)
def test_sums_are_of_numbers(run):
    """What collectives carry is one number from each rank, not a vector."""
    for case, outcome in run(4, CASES):
        with case_context(case, outcome):
            assert_collective_size(outcome.trace, 1, 8)


@points(1)
def test_neighbours_only(run):
    """Messages go to the rank before and the rank after, and to no other."""
    for case, outcome in run(4, CASES):
        with case_context(case, outcome):
            assert_neighbours(outcome.trace, grid_graph((outcome.ranks,)))


@points(1)
def test_one_number_for_each_neighbour(run):
    """In each iteration a rank sends a neighbour one number."""
    for case, outcome in run(4, CASES):
        with case_context(case, outcome):
            edges = edges_of(grid_graph((outcome.ranks,)))
            assert_bytes_per_edge(outcome.trace, dict.fromkeys(edges, 8 * case.num_iterations))
