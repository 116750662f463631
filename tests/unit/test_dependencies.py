"""What pip installs beside the package is what the lock is made from, but for what is optional."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
ONLY_LOCKED = {"setuptools", "torch"}
"""Torch is an extra; setuptools is what torch wants of whoever installs it."""


def test_a_package_installed_by_pip_has_what_the_images_have():
    """One list of names in two files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = {Requirement(each).name for each in project["dependencies"]}
    lines = (ROOT / "requirements.in").read_text().splitlines()
    locked = {Requirement(line).name for line in lines if line and not line.startswith("#")}
    assert installed == locked - ONLY_LOCKED
