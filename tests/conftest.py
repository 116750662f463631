"""Spreads the tests over workers, but for those that look at the machine as a whole."""

import os
import signal
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

_HERE = Path(__file__).parent
_ALONE = ("container/", "unit/test_survivors.py", "unit/suite/test_open_mode.py")
"""Containers, and what is left of processes and folders: two of these at a time would see each
other."""
_TOGETHER = ("test_installation.py",)
"""What one worker makes once, and takes long to make."""

# As `grade` has it, and before anything imports numpy or torch: workers share the cores already.
for _library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# In the background of a shell SIGINT is ignored, by all that is started there as well; some tests
# interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class _OneAtATime(LoadScopeScheduling):
    """Gives the tests that must not run beside each other to one worker, and each other to any."""

    def _split_scope(self, nodeid: str) -> str:
        below = nodeid.removeprefix(f"{_HERE.name}/")
        if below.startswith(_TOGETHER):
            return nodeid.partition("::")[0]
        return "machine" if below.startswith(_ALONE) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Decide by the file: marks of groups have no effect with pytest 9.2 (pytest-xdist #1386)."""
    return _OneAtATime(config, log)
