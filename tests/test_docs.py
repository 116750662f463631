"""Every command of the authors' page does what the page says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return the commands of a page in their order."""
    lines = (line.strip() for block in CONSOLE.findall(page) for line in block.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def test_the_commands_for_authors_work(tmp_path):
    """One after the other, in an empty folder outside of this repository."""
    found = commands((ROOT / "docs" / "authoring.md").read_text())
    assert len(found) >= 8
    for command in found:
        words = shlex.split(command)
        if words[0] == "grade":
            words[:1] = [sys.executable, "-m", "grader"]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "0 problems" in done.stdout
