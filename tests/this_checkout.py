"""The images of this checkout, and the `grade` that takes them: no other checkout has these names.

`make image` gives each image its tag beside `latest`. A test that asks for `grade` alone may get
what another checkout has built meanwhile.
"""

import hashlib
import sys
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

if __name__ == "__main__":
    print(TAG)
