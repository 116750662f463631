"""Waits for what another process does."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(find: Callable[[], Found], limit_s: float = 60) -> Found:
    """Return the first true value that `find` returns."""
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        if found := find():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")
