"""What a release builds, signs and publishes; `test_workflows.py` lints its workflow."""

import re
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / ".github/workflows/release.yml"
WORKFLOW = YAML(typ="safe").load(FILE)
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_each_job_has_the_rights_that_it_needs():
    """None by default; only the last one writes to the repository."""
    assert WORKFLOW["permissions"] == {}
    writing = {
        name
        for name, job in WORKFLOW["jobs"].items()
        if job["permissions"].get("contents") == "write"
    }
    assert writing == {"publish"}


def test_what_is_built_has_its_provenance():
    """The wheels and every image that is published."""
    subjects = [step["with"] for step in STEPS if "attest-build-provenance" in step.get("uses", "")]
    assert [set(each) & {"subject-path", "subject-digest"} for each in subjects] == [
        {"subject-path"},
        {"subject-digest"},
    ]


def test_the_image_with_the_solutions_stays_at_home():
    """Every image but `grade` is for others."""
    stages = re.findall(r"^FROM .* AS (grade\S*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    published = WORKFLOW["jobs"]["images"]["strategy"]["matrix"]["image"]
    assert sorted(published) == sorted(set(stages) - {"grade"})
    for step in STEPS:
        for line in re.findall(r"for image in (.*); do", step.get("run", "")):
            assert line.split() == published


def test_it_is_built_for_the_architectures_that_we_know():
    """Each on a machine of its own kind."""
    built = WORKFLOW["jobs"]["build"]["strategy"]["matrix"]["include"]
    assert [each["architecture"] for each in built] == ["amd64", "arm64"]
    assert [each["runner"].endswith("-arm") for each in built] == [False, True]
