"""When a machine counts as quiet, read off the ticks that its kernel counts."""

import pytest

from grader.observe.run_control import launch


def test_idle_time_is_read_off_the_ticks_of_all_cores():
    """The fourth number is idle time; nothing has passed where nothing is counted."""
    assert launch.idle_share([10, 0, 5, 100, 0], [20, 0, 15, 120, 40]) == 20 / 80
    assert launch.idle_share([1, 2, 3, 4], [1, 2, 3, 4]) == 1.0
    assert launch.idle_share([], []) == 1.0


@pytest.mark.parametrize(
    ("ticks", "num_looks"),
    [
        pytest.param([[0, 0, 0, 0], [10, 0, 0, 90]], 2, id="quiet"),
        pytest.param([[0, 0, 0, 0], [90, 0, 0, 10], [100, 0, 0, 100]], 3, id="quiet after a while"),
        pytest.param([[]], 1, id="nobody knows"),
        pytest.param([[100 * i, 0, 0, 0] for i in range(9)], 5, id="never"),
    ],
)
def test_it_is_waited_for_as_long_as_it_may_take(monkeypatch, ticks, num_looks):
    """Two seconds here, with a look each half second."""
    now_s = [0.0]
    monkeypatch.setattr(launch.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(launch.time, "sleep", lambda s: now_s.__setitem__(0, now_s[0] + s))
    left = list(ticks)
    monkeypatch.setattr(launch, "_ticks", lambda: left.pop(0))
    launch.wait_until_idle(2.0)
    assert len(ticks) - len(left) == num_looks


def test_this_machine_is_looked_at():
    """Linux counts eight states."""
    assert len(launch._ticks()) == 8
