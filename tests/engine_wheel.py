"""The engine's wheel, made of a copy of the sources: a build leaves files behind."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FILES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "requirements.lock")
_LIMIT_S = 900


def make_wheel(source: Path, target: Path) -> None:
    """Write the wheel into `target`; source: an empty folder for the copy."""
    shutil.copytree(
        ROOT / "grader",
        source / "grader",
        ignore=shutil.ignore_patterns("__pycache__", "*.so"),
    )
    for name in _FILES:
        shutil.copy(ROOT / name, source)
    command = ("wheel", "-q", "--no-build-isolation", "--no-deps", "--wheel-dir", target, source)
    done = subprocess.run(
        [sys.executable, "-m", "pip", *map(str, command)],
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
