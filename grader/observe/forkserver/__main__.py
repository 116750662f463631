"""Start of the forkserver: `python -I -S <this file> PACKAGES RANK_SOURCE [MODULE...]`.

PACKAGES is where the installed packages are, RANK_SOURCE the folder of the ranks' own code, each
MODULE is imported before the first fork. Without the settings of `site` (-S) no .pth file runs.
"""

import importlib
import site
import sys
from pathlib import Path

packages, rank_source, *modules = sys.argv[1:]
sys.path.append(packages)
site.setquit()  # students call exit()
site.sethelper()
# Beside this file, whatever the package around it is called.
folder = Path(__file__).resolve().parent
sys.path.insert(0, str(folder.parent))
serving = importlib.import_module(f"{folder.name}.serving")
del sys.path[0]
serving.serve(Path(rank_source), modules)
