"""Start of a rank: `python -I -S <this file> PACKAGES SOCKET`, from a copy with nothing beside it.

Without the settings of `site` (-S) a rank starts faster and no .pth file is executed; PACKAGES is
where the installed packages are.
"""

import importlib
import site
import sys
from pathlib import Path

# The command line is ours, not the student's.
packages, socket_path = sys.argv[1:]
sys.argv[:] = [""]
sys.path.append(packages)
folder = Path(__file__).resolve().parent
sys.path.insert(0, str(folder.parent))
site.setquit()  # students call exit()
site.sethelper()
main = importlib.import_module(f"{folder.name}.harness").main
del sys.path[0]
main(socket_path)
