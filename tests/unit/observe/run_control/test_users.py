"""Users of runs: one each, nobody else's, also where few exist."""

import itertools

import pytest

from grader.model.errors import GraderError
from grader.observe.forkserver.run_users import NUMBERS_PER_RUN
from grader.observe.run_control.users import _mapped_ranges, draw_block, run_uids

EVERYBODY = "         0          0 4294967295\n"
REMAPPED = "         0     100000      65536\n"
ROOTLESS = "         0       1000          1\n         1     100000      65536\n"


def test_every_run_has_users_to_itself():
    """No number, and none of those after it, comes twice while a block lasts."""
    uids = list(itertools.islice(run_uids(), 1024 // NUMBERS_PER_RUN))
    all_of_them = {uid + number for uid in uids for number in range(NUMBERS_PER_RUN)}
    assert len(all_of_them) == 1024
    assert max(all_of_them) - min(all_of_them) == 1023


def test_users_never_run_out():
    """After a block comes another."""
    assert len(list(itertools.islice(run_uids(), 2000))) == 2000


def test_blocks_are_drawn_above_all_users_there_may_be():
    """Two gradings at once hardly ever share a block, and never a user of the machine."""
    blocks = [draw_block(_mapped_ranges(EVERYBODY)) for _ in range(50)]
    assert len({block.start for block in blocks}) > 45
    assert all(block.start >= 2**17 and block.stop <= 2**31 for block in blocks)
    assert {len(block) for block in blocks} == {1024}


@pytest.mark.parametrize("table", [REMAPPED, ROOTLESS])
def test_a_container_with_few_users_uses_those_it_has(table):
    """Where users are mapped, only those exist; ours lie above the usual services."""
    mapped = _mapped_ranges(table)
    for _ in range(50):
        block = draw_block(mapped)
        assert len(block) == 1024
        assert block.start >= 1000 and block.stop <= 65537


def test_few_users_are_enough_for_two_runs():
    """A short range gives a short block of whole runs."""
    assert draw_block([range(0, 1128)]) == range(1000, 1128)
    assert len(draw_block([range(0, 1150)])) == 128


def test_no_users_at_all_is_one_clear_sentence():
    """A container in which only root exists cannot seal anything."""
    with pytest.raises(GraderError, match=r"this container has only 1.*subuid"):
        draw_block(_mapped_ranges("         0       1000          1\n"))
