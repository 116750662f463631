"""Every test file is collected by the command of `make test`, whatever its folder is called."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_SUITES = ("tests/suites/", "tests/stencils/tests/suites/")
"""Those grade a submission: `grade` runs them."""


def test_no_test_file_is_left_out():
    """A folder's name in `norecursedirs` once hid a thousand tests."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    collected = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")}
    assert files - collected == {each for each in files if each.startswith(OF_SUITES)}
