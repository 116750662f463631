"""Says how many tests were collected, run and skipped, and which launches had to be observed.

pytest reads this file for the suites as well, where only the packages of requirements.lock are
installed: what is imported here is one of those.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

_CONTAINER = Path(__file__).parent / "container"
_COUNTS = pytest.StashKey[Counter]()
_BY_WORKER = ("launches found", "launches observed")
"""What each worker counts for itself; of all else they count the same."""

# As `grade` has it, and before anything imports numpy or torch: workers share the cores already.
for _library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# In the background of a shell SIGINT is ignored, by all that is started there as well; some tests
# interrupt what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let nights try what recordings cannot show: that ranks still do the same."""
    parser.addoption(
        "--live", action="store_true", help="start ranks also for what was observed before"
    )
    parser.addoption(
        "--observer",
        metavar="DIGEST",
        help="judge what this other observer has recorded, after moves and renames",
    )


@pytest.fixture(scope="session")
def ranks(request: pytest.FixtureRequest) -> Iterator[object]:
    """Return what puts plans to ranks, or finds them where they were observed before."""
    from recorded import Ranks  # for whom a suite has no use

    options = request.config.option
    with Ranks(is_live=options.live, observer=options.observer) as found:
        yield found
        counts = request.config.stash[_COUNTS]
        counts["launches found"] += found.num_found
        counts["launches observed"] += found.num_observed


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with those that wait for each other: all others find a place beside them."""
    config.stash[_COUNTS]["collected"] = len(items)
    items.sort(key=lambda item: _CONTAINER not in item.path.parents)


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
    told = Counter(getattr(node, "workeroutput", {}).get("counts", {}))
    counts = node.config.stash[_COUNTS]
    for kind in _BY_WORKER:
        counts[kind] += told.pop(kind, 0)
    node.config.stash[_COUNTS] |= told


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests there are, and how many were run; -rs lists why others were skipped."""
    counts = terminalreporter.config.stash[_COUNTS]
    kinds = ("passed", "failed", "error", "xfailed", "xpassed")
    num_run = sum(len(terminalreporter.getreports(kind)) for kind in kinds)
    num_skipped = len(terminalreporter.getreports("skipped"))
    terminalreporter.section("tests")
    terminalreporter.line(
        f"{counts['collected']} collected, {num_run} run, {num_skipped} skipped (reasons below), "
        f"{counts['left out']} left out by -m and -k"
    )
    if num_launches := sum(counts[kind] for kind in _BY_WORKER):
        terminalreporter.line(
            f"{num_launches} launches: {counts['launches found']} were recorded before, "
            f"{counts['launches observed']} had to be observed"
        )
