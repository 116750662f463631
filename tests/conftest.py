"""Spreads the tests over workers, but for those that look at the machine as a whole."""

import os
import signal
from pathlib import Path

import pytest
from sample import is_drawn
from xdist.scheduler import LoadScopeScheduling

_HERE = Path(__file__).parent
_ALONE = ("container/", "unit/test_survivors.py", "unit/suite/test_open_mode.py")
"""Containers and images by name, and what is left of processes and folders: two of these at a time
would see each other."""
_TOGETHER = ("test_installation.py", "unit/suite/test_inputs.py")
"""What one worker makes once, and takes long to make."""
_BESIDE = ("container/test_hostile.py", "container/test_hostile_archives.py")
"""These see nothing but the containers that they have started, as the machine of a course has
several at a time."""

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
        if _below(nodeid).startswith(_TOGETHER):
            return nodeid.partition("::")[0]
        return "machine" if _is_alone(nodeid) else nodeid


def _below(nodeid: str) -> str:
    return nodeid.removeprefix(f"{_HERE.name}/")


def _is_alone(nodeid: str) -> bool:
    return _below(nodeid).startswith(_ALONE) and not _below(nodeid).startswith(_BESIDE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make test` end within the time that a push can wait for."""
    parser.addoption(
        "--one-in",
        type=int,
        default=1,
        metavar="N",
        help="of labelled submissions and attacks grade one in N",
    )
    parser.addoption(
        "--turn",
        type=int,
        default=0,
        metavar="K",
        help="which ones: N turns after each other are all",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what is left out."""
    one_in, turn = config.option.one_in, config.option.turn
    if one_in <= 1:
        return None
    return (
        f"labelled submissions and attacks: one in {one_in}, those of turn {turn % one_in} "
        f"(--one-in {one_in} --turn {turn % one_in})"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with those that wait for each other: all others find a place beside them."""
    one_in, turn = config.option.one_in, config.option.turn
    if one_in > 1:
        drawn = [is_drawn(_below(item.nodeid), turn=turn, one_in=one_in) for item in items]
        left_out = [item for item, is_in in zip(items, drawn, strict=True) if not is_in]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item, is_in in zip(items, drawn, strict=True) if is_in]
    items.sort(key=lambda item: not _is_alone(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Decide by the file: marks of groups have no effect with pytest 9.2 (pytest-xdist #1386)."""
    return _OneAtATime(config, log)
