"""Spreads the tests over workers, and says how many were collected, run and skipped.

pytest reads this file for the suites as well, where only the packages of requirements.lock are
installed: what is imported here is one of those.
"""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from sample import is_drawn

_HERE = Path(__file__).parent
_ALONE = ("container/",)
"""Each file has its own images and containers, and much work."""
_TOGETHER = ("test_installation.py", "unit/suite/test_inputs.py")
"""What one worker makes once, and takes long to make."""
_BESIDE = ("container/test_hostile.py", "container/test_hostile_archives.py")
"""These see nothing but the containers that they have started, as the machine of a course has
several at a time."""

_COUNTS = pytest.StashKey[Counter]()

# As `grade` has it, and before anything imports numpy or torch: workers share the cores already.
for _library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# In the background of a shell SIGINT is ignored, by all that is started there as well; some tests
# interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
    config.stash[_COUNTS]["collected"] = len(items)
    if one_in > 1:
        drawn = [is_drawn(_below(item.nodeid), turn=turn, one_in=one_in) for item in items]
        left_out = [item for item, is_in in zip(items, drawn, strict=True) if not is_in]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item, is_in in zip(items, drawn, strict=True) if is_in]
    items.sort(key=lambda item: not _is_alone(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Decide by the file: marks of groups have no effect with pytest 9.2 (pytest-xdist #1386).

    Tests that must not run beside each other go to one worker, each other test to any.
    """
    from xdist.scheduler import LoadScopeScheduling  # of requirements-dev.lock

    class OneAtATime(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if _below(nodeid).startswith(_TOGETHER):
                return nodeid.partition("::")[0]
            return "machine" if _is_alone(nodeid) else nodeid

    return OneAtATime(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Count from here on."""
    config.stash[_COUNTS] = Counter()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out, by whichever option."""
    if items:
        items[0].config.stash[_COUNTS]["left out"] += len(items)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that reports: only workers collect, and all collect the same."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["counts"] = dict(session.config.stash[_COUNTS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """Take what a worker has counted."""
    node.config.stash[_COUNTS] |= Counter(getattr(node, "workeroutput", {}).get("counts", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests there are, and how many were run; -rs lists why others were skipped."""
    counts = terminalreporter.config.stash[_COUNTS]
    kinds = ("passed", "failed", "error", "xfailed", "xpassed")
    num_run = sum(len(terminalreporter.getreports(kind)) for kind in kinds)
    num_skipped = len(terminalreporter.getreports("skipped"))
    terminalreporter.section("tests")
    terminalreporter.line(
        f"{counts['collected']} collected, {num_run} run, {num_skipped} skipped (reasons below), "
        f"{counts['left out']} left out by -m, -k and --one-in"
    )
