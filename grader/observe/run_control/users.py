"""The users that runs are: some each, which nobody else on the machine is likely to be.

How many processes a user may have is counted for the whole machine, over all containers: what one
submission starts must not count against another that is graded beside it.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.model.errors import GraderError
from grader.observe.forkserver.run_users import NUMBERS_PER_RUN

_MAPPED = Path("/proc/self/uid_map")
_BLOCK_LENGTH = 1024
_FIRST, _END = 2**17, 2**31
"""Below are people and services, also in containers whose users are moved up by 65536."""
_FIRST_WHERE_FEW = 1000


def run_uids() -> Iterator[int]:
    """Yield users without end, from a block drawn at random: the first is for the intake.

    The numbers after each belong to the run as well: see grader.observe.forkserver.run_users.
    Raises GraderError where this container has no users to spare.
    """
    while True:
        yield from draw_block(_mapped_ranges(_MAPPED.read_text()))[::NUMBERS_PER_RUN]


def draw_block(mapped: Sequence[range]) -> range:
    """Return up to 1024 numbers in a row out of those that exist here, enough for whole runs.

    Raises GraderError where there are too few for two, the first of which only reads submissions.
    """
    roomy = [_overlap(each, range(_FIRST, _END)) for each in mapped]
    tight = [_overlap(each, range(_FIRST_WHERE_FEW, _END)) for each in mapped]
    chosen = max((each for each in roomy if len(each) >= _BLOCK_LENGTH), key=len, default=None)
    if chosen is None:
        chosen = max(tight, key=len, default=range(0))
    length = min(len(chosen), _BLOCK_LENGTH) // NUMBERS_PER_RUN * NUMBERS_PER_RUN
    if length < 2 * NUMBERS_PER_RUN:
        existing = sum(map(len, mapped))
        raise GraderError(
            f"each run needs its own users, but this container has only {existing}. Give the "
            "container's user a range of at least 65536 IDs in /etc/subuid and /etc/subgid"
        )
    first = chosen.start + secrets.randbelow(len(chosen) - length + 1)
    return range(first, first + length)


def _overlap(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _mapped_ranges(uid_map: str) -> list[range]:
    """Return the users that exist in our namespace, as the kernel's table says."""
    rows = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    return [range(first, first + count) for first, _, count in rows]
