#!/usr/bin/env python3
"""A podman without containers: writes down what it is asked, and answers from a folder.

FAKE_PODMAN holds `asked` (a JSON list a line), and may hold files named as a command, such as
`info` or `volume-ls`: what that prints; with `.error`, why it fails. `start` runs the file `start`
as a program.
"""

import json
import os
import sys
from pathlib import Path

folder = Path(os.environ["FAKE_PODMAN"])
arguments = sys.argv[1:]
with (folder / "asked").open("a") as asked:
    asked.write(json.dumps(arguments) + "\n")
name = "-".join(arguments[:2]) if arguments[0] in ("volume", "image") else arguments[0]
if name == "start":
    os.execv(sys.executable, [sys.executable, str(folder / "start"), arguments[-1]])
error = folder / f"{name}.error"
if error.exists():
    print(f"Error: {error.read_text()}", file=sys.stderr)
    sys.exit(125)
answer = folder / name
if name == "create":
    with (folder / "created").open("a") as created:
        created.write("x")
    print(f"c{(folder / 'created').stat().st_size}")
elif name == "volume-create":
    print(arguments[-1])
elif answer.exists():
    print(answer.read_text())
