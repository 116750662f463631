"""The users that runs are: one each, which nobody else on the machine is likely to be.

How many processes a user may have is counted for the whole machine, over all containers: what one
submission starts must not count against another that is graded beside it.
"""

import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.errors import GraderError

_MAPPED = Path("/proc/self/uid_map")
_BLOCK_LENGTH = 1024
_FIRST, _END = 2**17, 2**31
"""Below are people and services, also in containers whose users are moved up by 65536."""
_FIRST_WHERE_FEW = 1000
_MIN_LENGTH = 4


def run_uids() -> Iterator[int]:
    """Yield users without end, from a block drawn at random: the first is for the intake.

    The number after each belongs to the run as well: it is the user of the run's supervisor.
    Raises GraderError where this container has no users to spare.
    """
    while True:
        yield from draw_block(_mapped_ranges(_MAPPED.read_text()))[::2]


def draw_block(mapped: Sequence[range]) -> range:
    """Return up to 1024 numbers in a row out of those that exist here, an even number of them.

    Raises GraderError where there are fewer than four.
    """
    roomy = [_overlap(each, range(_FIRST, _END)) for each in mapped]
    tight = [_overlap(each, range(_FIRST_WHERE_FEW, _END)) for each in mapped]
    chosen = max((each for each in roomy if len(each) >= _BLOCK_LENGTH), key=len, default=None)
    if chosen is None:
        chosen = max(tight, key=len, default=range(0))
    length = min(len(chosen), _BLOCK_LENGTH) // 2 * 2
    if length < _MIN_LENGTH:
        existing = sum(map(len, mapped))
        raise GraderError(
            f"runs need users of their own, and there are only {existing} users in this container; "
            "give whoever starts it a range of at least 65536 in /etc/subuid and /etc/subgid"
        )
    first = chosen.start + secrets.randbelow(len(chosen) - length + 1)
    return range(first, first + length)


def _overlap(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _mapped_ranges(uid_map: str) -> list[range]:
    """Return the users that exist in our namespace, as the kernel's table says."""
    rows = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    return [range(first, first + count) for first, _, count in rows]
