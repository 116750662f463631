"""Where the parts of the project lie: beside this package, in a checkout and in the image alike."""

import os
from pathlib import Path

ROOT = Path(os.environ.get("GRADER_HOME") or Path(__file__).resolve().parents[1])
SUITES = ROOT / "tests" / "suites"
REFERENCES = ROOT / "reference"
TEMPLATES = ROOT / "student_template"
SHARED_SUPPORT = Path(__file__).resolve().parent / "support"
