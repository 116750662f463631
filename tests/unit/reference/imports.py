"""Imports what students get, whose names are common: each test has it anew."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest


def imported(
    monkeypatch: pytest.MonkeyPatch, names: Sequence[str], *folders: Path
) -> dict[str, ModuleType]:
    """Return modules of these folders, which are forgotten when the test ends."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delenv("GRADER_DATA", raising=False)
    for folder in folders:
        monkeypatch.syspath_prepend(folder)
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    modules = {name: importlib.import_module(name) for name in names}
    for name in names:
        # Noted by monkeypatch, which takes the module out again at the end.
        monkeypatch.setitem(sys.modules, name, sys.modules.pop(name))
    return modules
