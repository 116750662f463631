"""Start of a rank: `python -I <this file> SOCKET`, from a copy with nothing beside it."""

import importlib
import sys
from pathlib import Path

folder = Path(__file__).resolve().parent
sys.path.insert(0, str(folder.parent))
main = importlib.import_module(f"{folder.name}.harness").main
del sys.path[0]
# The command line is ours, not the student's.
socket_path = sys.argv.pop()
sys.argv[0] = ""
main(socket_path)
