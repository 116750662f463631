"""Explicit time steps of the heat equation, on blocks of a grid."""

from dataclasses import dataclass

import numpy as np
import pytest

from grader.api import (
    Array,
    Case,
    assert_bytes_per_edge,
    assert_every_rank,
    assert_messages_per_iteration,
    assert_neighbours,
    case_context,
    edges_of,
    grid_graph,
    part,
    points,
)

pytestmark = [part("halo"), pytest.mark.mpi]

ROWS, COLUMNS = 9, 11
"""Of each block. Neighbours in a row exchange columns of it, those in a column exchange rows."""


@dataclass(frozen=True, kw_only=True)
class Steps(Case):
    """One call of diffuse."""

    probe: str = "diffuse"
    shape: tuple[int, int]
    num_steps: int

    @property
    def label(self):
        """Return the words that name this case to a student."""
        return f"{self.shape[0]} x {self.shape[1]} ranks, {self.num_steps} steps{self.perturbation}"

    def inputs(self, random, ranks, data):
        """Return one block a rank."""
        return [
            {
                "block": random.normal(size=(ROWS, COLUMNS)),
                "num_steps": self.num_steps,
                "shape": self.shape,
            }
            for _ in range(ranks)
        ]

    def results(self, rank, ranks):
        """Return the form of what comes back."""
        return {"block": Array("float64", (ROWS, COLUMNS))}


CASES = tuple(Steps(shape=(2, 3), num_steps=steps) for steps in (3, 8))
UNBUFFERED = (Steps(shape=(2, 3), num_steps=2, synchronous_sends=True),)


def expected_blocks(case, outcome):
    """Return each rank's block after the steps, computed on the whole grid at once."""
    grid = np.block(
        [
            [
                outcome.inputs[row * case.shape[1] + column]["block"]
                for column in range(case.shape[1])
            ]
            for row in range(case.shape[0])
        ]
    )
    for _ in range(case.num_steps):
        around = np.pad(grid, 1)
        grid = 0.6 * grid + 0.1 * (
            around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
        )
    strips = np.split(grid, case.shape[0])
    return [block for strip in strips for block in np.split(strip, case.shape[1], axis=1)]


def edge_bytes(case):
    """Return the bytes that each edge needs; an exchange before the first step is fine as well."""
    needed = {
        (rank, other): 8 * (COLUMNS if abs(rank - other) == case.shape[1] else ROWS)
        for rank, other in edges_of(grid_graph(case.shape))
    }
    steps = case.num_steps
    return {edge: (steps * size, (steps + 1) * size) for edge, size in needed.items()}


@points(3)
def test_blocks_are_right(run):
    """Each rank gives back its block of the grid after the steps."""
    for case, outcome in run(6, CASES):
        with case_context(case, outcome):
            for rank, block in enumerate(expected_blocks(case, outcome)):
                assert_every_rank([outcome["block"][rank]], equals=block, atol=1e-12)


@points(1)
def test_works_when_no_message_is_buffered(run):
    """The blocks are right even if every send waits until its receive is posted."""
    for case, outcome in run(6, UNBUFFERED):
        with case_context(case, outcome):
            for rank, block in enumerate(expected_blocks(case, outcome)):
                assert_every_rank([outcome["block"][rank]], equals=block, atol=1e-12)


@points(2)
def test_neighbours_only(run):
    """Each rank sends to its neighbours above, below, left and right, and to no other rank."""
    for case, outcome in run(6, CASES):
        with case_context(case, outcome):
            assert_neighbours(outcome.trace, grid_graph(case.shape))


@points(3)
def test_halos_and_no_more(run):
    """In each step a rank sends a neighbour one row or column of its block."""
    for case, outcome in run(6, CASES):
        with case_context(case, outcome):
            assert_bytes_per_edge(outcome.trace, edge_bytes(case))


@points(1)
def test_one_message_for_each_neighbour(run):
    """In each step a rank sends each neighbour one message."""
    traces = {case.num_steps: outcome.trace for case, outcome in run(6, CASES)}
    graph = grid_graph(CASES[0].shape)
    assert_messages_per_iteration(traces, {rank: len(graph[rank]) for rank in graph})
