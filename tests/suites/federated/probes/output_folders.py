"""Folders that a script writes into, but does not create: git keeps no empty ones."""

import builtins
import contextlib
import functools
import io
import os
from pathlib import Path

from grader.rank.toolbox import replaced


@contextlib.contextmanager
def output_folders():
    """Create missing folders below the working folder when a file in them is opened for writing."""
    import torch

    open_file, save = builtins.open, torch.save

    @functools.wraps(open_file)
    def opened(file, mode="r", *arguments, **options):
        if set(mode) & set("wax"):
            _create_folder_of(file)
        return open_file(file, mode, *arguments, **options)

    @functools.wraps(save)
    def saved(obj, f, *arguments, **options):
        _create_folder_of(f)
        return save(obj, f, *arguments, **options)

    with contextlib.ExitStack() as stack:
        for module in (builtins, io):
            stack.enter_context(replaced(module, "open", opened))
        for module in (torch, torch.serialization):
            stack.enter_context(replaced(module, "save", saved))
        yield


def _create_folder_of(file):
    if isinstance(file, str | os.PathLike):
        # logging makes every path absolute.
        folder = Path(os.path.relpath(Path(file).parent))
        if ".." not in folder.parts:
            folder.mkdir(parents=True, exist_ok=True)
