"""What pip installs beside the package is in the lock from which images are made."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from grader.addons.authoring.installation import folder

ROOT = Path(__file__).resolve().parents[2]


def test_the_lock_has_what_the_project_names():
    """With what ranks and studies import, and what a checkout is installed by."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = data["project"]["optional-dependencies"]
    named = data["project"]["dependencies"] + extras["torch"] + extras["study"]
    named += data["dependency-groups"]["setup"]
    text = (ROOT / "requirements.lock").read_text()
    locked = [each.name for each in folder.packages(text) if _is_named(each)]
    assert sorted({*locked}) == sorted(Requirement(each).name for each in named)


def _is_named(package):
    return any(name.startswith("distributed-grader (") for name in package.wanted_by)
