"""A launch has no more ranks than there are users for."""

from dataclasses import replace

import pytest
from observations import plan

from grader.observe.forkserver import run_users
from grader.recording.launch_plan import MAX_NUM_RANKS


def test_each_rank_of_a_launch_has_a_user_of_its_own():
    """The forkserver imports nothing of the engine, so the number stands there as well."""
    assert MAX_NUM_RANKS == run_users.MAX_NUM_RANKS
    replace(plan(), ranks=MAX_NUM_RANKS)
    with pytest.raises(ValueError, match="a launch has at most 62 ranks"):
        replace(plan(), ranks=MAX_NUM_RANKS + 1)
