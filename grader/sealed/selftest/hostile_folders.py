"""Attempts on folders that all may write to, of a rank that MPI connects: only Landlock refuses."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from .hostile_calling import make_file

_EVERYBODYS = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue")  # noqa: S108 - tried


def try_folders_of_all(target: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Ranks that MPI connects use no file of each other."""
    for folder in _EVERYBODYS:
        yield f"write into {folder}", partial(make_file, f"{folder}/from-a-rank-{os.getpid()}")
    yield "make a named pipe", partial(os.mkfifo, f"{_EVERYBODYS[0]}/pipe-{os.getpid()}")
