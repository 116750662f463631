"""Spreads the tests over two workers, but for those that look at the machine as a whole."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_ALONE = (_HERE / "container", _HERE / "unit" / "test_survivors.py")
"""Containers, and what is left of processes: two of these at a time would see each other."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests that must not run beside each other to one worker."""
    for item in items:
        if any(item.path.is_relative_to(place) for place in _ALONE):
            item.add_marker(pytest.mark.xdist_group("machine"))
