"""Start of the zygote: `python -I -S <this file> PACKAGES RANK_SOURCE [MODULE...]`.

PACKAGES is where the installed packages are, RANK_SOURCE the folder of the ranks' own code, each
MODULE is imported before the first fork. Without the settings of `site` (-S) no .pth file runs.
`--listen FOLDER PACKAGES RANK_SOURCE` starts it for a judge that comes to a socket in FOLDER.
"""

import importlib
import site
import sys
from pathlib import Path
from types import ModuleType

folder = Path(__file__).resolve().parent


def _part(name: str) -> ModuleType:
    """Return a module beside this file, whatever the package around it is called."""
    sys.path.insert(0, str(folder.parent))
    found = importlib.import_module(f"{folder.name}.{name}")
    del sys.path[0]
    return found


if sys.argv[1] == "--listen":
    shared, packages, rank_source = sys.argv[2:]
    itself = [sys.executable, "-I", "-S", __file__, packages, rank_source]
    _part("listening").listen(Path(shared), itself)
else:
    packages, rank_source, *modules = sys.argv[1:]
    sys.path.append(packages)
    site.setquit()  # students call exit()
    site.sethelper()
    _part("serving").serve(Path(rank_source), modules)
