"""What pip installs beside the package is in the lock from which images are made."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import join_locks
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader.addons.authoring.installation import folder

ROOT = Path(__file__).resolve().parents[2]
DATA = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = DATA["project"]["optional-dependencies"]
GROUPS = DATA["dependency-groups"]
NAMED = {
    None: DATA["project"]["dependencies"] + EXTRAS["torch"] + EXTRAS["study"] + GROUPS["setup"],
    "class": EXTRAS["class"],
    "dev": GROUPS["dev"],
}
"""What pyproject.toml names, by the extra that the lock marks it with."""
LOCK = (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("extra", NAMED)
def test_the_lock_has_what_the_project_names(extra):
    """With what ranks and studies import, and what a checkout is installed by."""
    locked = {each.name for each in folder.packages(LOCK) if _is_named(each, extra)}
    named = {canonicalize_name(Requirement(each).name) for each in NAMED[extra]}
    assert locked == named


def _is_named(package, extra):
    marked = re.search(r"extra == '(\w+)'", package.text)
    by_project = any(name.startswith("distributed-grader (") for name in package.wanted_by)
    return by_project and (marked[1] if marked else None) == extra


@pytest.mark.parametrize("extra", ["class", "dev"])
def test_pip_installs_an_extra_only_when_its_marker_is_replaced(extra, tmp_path):
    package = {"class": "parsl", "dev": "ruff"}[extra]
    assert package not in _resolved(LOCK, tmp_path)
    assert package in _resolved(
        LOCK.replace(f"extra == '{extra}'", "python_version > '3'"), tmp_path
    )


def _resolved(lock, directory):
    """Return what pip reads of a lock as packages for this machine, from its own parser."""
    file = directory / "lock"
    file.write_text(lock)
    code = (
        "import sys; from pip._internal.network.session import PipSession\n"
        "from pip._internal.req import parse_requirements\n"
        "from pip._internal.req.constructors import install_req_from_parsed_requirement as read\n"
        "for each in parse_requirements(sys.argv[1], session=PipSession()):\n"
        "    each = read(each)\n"
        "    if each.match_markers(): print(each.req.name)\n"
    )
    return subprocess.check_output([sys.executable, "-c", code, file], text=True).split()


GRADING = """numpy==2.0 \\
    --hash=sha256:0
    # via distributed-grader (pyproject.toml)
"""


def test_a_lock_of_an_extra_adds_what_is_new_with_its_marker():
    more = GRADING + "tqdm==4.0 ; python_version < '4' \\\n    --hash=sha256:1\n    # via parsl\n"
    assert join_locks.joined(GRADING, {"class": more, "dev": more}) == (
        GRADING
        + "tqdm==4.0 ; extra == 'class' and (python_version < '4') \\\n"
        + "    --hash=sha256:1\n    # via parsl\n"
    )


def test_a_package_locked_twice_has_one_version():
    with pytest.raises(ValueError, match=r"dev locks numpy==3.0, and a lock before it numpy==2.0"):
        join_locks.joined(GRADING, {"dev": GRADING.replace("2.0", "3.0")})
