"""The images of this checkout, and the `grade` that takes them: no other checkout has these names.

`make image` gives each image its tag beside `latest`. A test that asks for `grade` alone may get
what another checkout has built meanwhile.
"""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TAG = "test-" + hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
IMAGE, STUDENT_IMAGE, ENGINE_IMAGE = (
    f"{name}:{TAG}" for name in ("grade", "grade-student", "grade-engine")
)
_WITH_OUR_IMAGES = f"""
import sys
from grader.commands import arguments
arguments.DEFAULT_IMAGE = {IMAGE!r}
arguments.DEFAULT_ENGINE_IMAGE = {ENGINE_IMAGE!r}
from grader.__main__ import main
main()
"""
GRADE = (sys.executable, "-c", _WITH_OUR_IMAGES)
"""The command `grade`, whose default images are those of this checkout."""
_LIMIT_S = 900


def grade(*arguments: object, limit_s: float = _LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run `grade` in the checkout."""
    return _said([*GRADE, *map(str, arguments)], limit_s)


def docker_run(
    submission: Path, *arguments: str, image: str = IMAGE, flags: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run an image as the README says."""
    begin = ("docker", "run", "--rm", "--network", "none", *flags)
    return _said([*begin, "-v", f"{submission}:/submission:ro", image, *arguments], _LIMIT_S)


def _said(command: Sequence[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit_s)


if __name__ == "__main__":
    print(TAG)
