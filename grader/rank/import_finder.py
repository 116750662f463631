"""Lets a submission import a script of its own from whichever of its folders the script lies in.

Started by hand, a program finds it because of where it was started, or by a path that it adds
itself. Asked last of all, this finds nothing that Python finds without it: no library, no file
that was given with the assignment.
"""

import importlib.abc
import importlib.machinery
import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


class OwnModules(importlib.abc.MetaPathFinder):
    """Finds modules and packages anywhere below a folder, where only one has the name."""

    def __init__(self, folder: Path) -> None:
        self._places: dict[str, set[Path]] = defaultdict(set)
        for script in folder.rglob("*.py"):
            if script.name != "__init__.py":
                self._places[script.stem].add(script)
            if script.parent != folder:
                self._places[script.parent.name].add(script.parent)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where the module is; None for what lies in a package, or has several places."""
        places = self._places.get(fullname, set())
        if path is not None or len(places) != 1:
            return None
        (place,) = places
        if not place.is_dir():
            return importlib.util.spec_from_file_location(fullname, place)
        begins = place / "__init__.py"
        if begins.is_file():
            return importlib.util.spec_from_file_location(
                fullname, begins, submodule_search_locations=[str(place)]
            )
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec
