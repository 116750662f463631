"""Finds blocks of calls that are made again and again, so that a table shows each of them once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from grader.report.trace_rows import Row, peer_text, tag_text

_LONGEST_BLOCK = 64
_FEWEST_SAVED = 3
"""Rows: fewer are as quick to read as what would stand in their place."""


@dataclass(frozen=True)
class Block:
    """Rows that are made so many times in a row."""

    start: int
    length: int
    times: int

    @property
    def end(self) -> int:
        """Return where the next block starts."""
        return self.start + self.length * self.times


def blocks_of(rows: Sequence[Row]) -> list[Block]:
    """Return the rows of one rank as blocks, in their order; most are of one row, once.

    Two calls are the same when all a table says of them is, but for times and numbers.
    """
    known: dict[Hashable, int] = {}
    keys = [known.setdefault(_key(row), len(known)) for row in rows]
    blocks = []
    start = 0
    while start < len(keys):
        blocks.append(_best(keys, start))
        start = blocks[-1].end
    return blocks


def _best(keys: Sequence[int], start: int) -> Block:
    """Return the block from here on that saves most rows, the shortest of several."""
    best = Block(start, 1, 1)
    for length in range(1, min(_LONGEST_BLOCK, (len(keys) - start) // 2) + 1):
        if keys[start + length] != keys[start]:
            continue
        block = Block(start, length, _times(keys, start, length))
        if _saved(block) > max(_saved(best), _FEWEST_SAVED - 1):
            best = block
    return best


def _times(keys: Sequence[int], start: int, length: int) -> int:
    first, times = keys[start : start + length], 1
    while keys[start + times * length : start + (times + 1) * length] == first:
        times += 1
    return times


def _saved(block: Block) -> int:
    return block.length * (block.times - 1)


def _key(row: Row) -> Hashable:
    call = row.call
    return (
        row.name,
        call.function,
        () if row.waits_for else peer_text(row),
        tag_text(row),
        call.communicator,
        row.num_bytes,
        call.file,
        call.line,
        row.state,
        call.error,
        tuple(row.number - number for number in row.waits_for),
        tuple(row.number - number for number in row.completes),
        row.completed_by and row.completed_by - row.number,
    )
