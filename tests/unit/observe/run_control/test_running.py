"""How often the judge looks at ranks that have not answered."""

import pytest

from grader.observe.run_control.running import _tick_s


@pytest.mark.parametrize(
    ("lasted_s", "tick_s"), [(0.0, 0.05), (5.0, 0.05), (10.0, 0.1), (99.0, 0.25)]
)
def test_a_case_that_lasts_is_looked_at_less_often(lasted_s, tick_s):
    """Deadlocks of a short case are told at once; a case of minutes costs the judge little."""
    assert _tick_s(lasted_s) == pytest.approx(tick_s)
