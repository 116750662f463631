"""Finds the shortest circle of ranks that wait for each other."""

from collections import deque
from collections.abc import Mapping

_MOST_SHOWN = 8


def shortest_cycle(edges: Mapping[int, frozenset[int]]) -> list[int]:
    """Return the ranks of a shortest cycle, from its lowest on; empty if there is none.

    edges: by rank, the ranks it waits for; those that are no keys themselves wait for nobody.
    """
    best: list[int] = []
    for start in sorted(edges):
        cycle = _cycle_through(start, edges)
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
    return best


def cycle_text(cycle: list[int]) -> str:
    """Return `cycle 0 -> 1 -> 2 -> 0`; the middle of a long one is left out."""
    shown = [str(rank) for rank in cycle]
    if len(shown) > _MOST_SHOWN:
        shown[_MOST_SHOWN // 2 : -1] = ["..."]
    return f"cycle {' -> '.join([*shown, str(cycle[0])])}"


def _cycle_through(start: int, edges: Mapping[int, frozenset[int]]) -> list[int]:
    """Return a shortest way from `start` back to it, by breadth-first search."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        rank = queue.popleft()
        for following in sorted(edges.get(rank, frozenset())):
            if following == start:
                way = [rank]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if following not in came_from:
                came_from[following] = rank
                queue.append(following)
    return []
