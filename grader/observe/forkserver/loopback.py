"""How many bytes the kernel has carried over the loopback of this network namespace.

Nothing but what a run's processes send each other goes there, where the namespace is ours alone:
runs are one at a time, and judge and forkserver talk by other means.
"""

from collections.abc import Callable
from pathlib import Path

_TABLE = Path("/proc/net/dev")
_NUM_HEADINGS = 2
_IS_UP = 1


def carried_num_bytes() -> int | None:
    """Return the counter of the loopback; None where it is not the only way to anybody."""
    try:
        return carried(_TABLE.read_text(), _flags)
    except OSError:
        return None


def carried(table: str, flags: Callable[[str], int]) -> int | None:
    """Return the same of a text of /proc/net/dev; flags: returns those of an interface."""
    counters = interfaces(table, flags)
    return int(counters["lo"][0]) if [*counters] == ["lo"] else None


def interfaces(table: str, flags: Callable[[str], int]) -> dict[str, list[str]]:
    """Return the counters of each network interface of such a text that is up.

    A fresh network namespace may hold tunnels that are down: they lead nowhere.
    """
    lines = (line.partition(":") for line in table.splitlines()[_NUM_HEADINGS:])
    counters = {name.strip(): numbers.split() for name, _, numbers in lines}
    return {name: numbers for name, numbers in counters.items() if flags(name) & _IS_UP}


def own_interfaces() -> tuple[str, ...]:
    """Return the names of those that are up here. Raises OSError where nobody tells."""
    return tuple(interfaces(_TABLE.read_text(), _flags))


def _flags(interface: str) -> int:
    try:
        return int(Path(f"/sys/class/net/{interface}/flags").read_text(), 16)
    except (OSError, ValueError):
        return _IS_UP
