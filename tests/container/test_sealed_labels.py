"""Every labelled submission gets the verdict of its folder in the sealed container as well.

`make acceptance` runs them, for about an hour; `-k accepted` takes those that deserve full marks.
Needs the image that `make image` builds.
"""

from pathlib import Path

import pytest
from this_checkout import grade

from grader.addons.authoring.verification.labels import disagreements, read_label
from grader.report.json_report import parse

SUBMISSIONS = Path(__file__).resolve().parents[1] / "submissions"
FOLDERS = sorted(folder for folder in SUBMISSIONS.glob("*/*/*") if folder.is_dir())
pytestmark = pytest.mark.usefixtures("engine")


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda folder: folder.relative_to(SUBMISSIONS).as_posix()
)
def test_submission_gets_its_verdict_in_the_container(folder):
    """Sealing neither costs honest work a point nor hides why something else fails."""
    label = read_label(folder)
    chosen = ("--assignment", folder.parent.name, "--part", label.part, "--json", "-")
    graded = grade("run", folder, *chosen, limit_s=1200)
    (result,) = parse(graded.stdout).parts
    assert not list(disagreements(label, result)), graded.stdout
