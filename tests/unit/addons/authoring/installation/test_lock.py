"""The part of a lock that an installation needs: what it asks for, and what that asks for."""

from pathlib import Path

import pytest

from grader.addons.authoring.installation import folder
from grader.model.errors import GraderError

LOCK = """\
# From pyproject.toml, by `make lock`.
--extra-index-url https://example.org/cpu

apple==1.0 ; sys_platform == 'linux' \\
    --hash=sha256:aa
    # via
    #   distributed-grader (pyproject.toml)
    #   cake
apple==1.1 ; sys_platform == 'darwin' \\
    --hash=sha256:ab \\
    --hash=sha256:ac
    # via cake
cake==2.0 \\
    --hash=sha256:ca
    # via distributed-grader (pyproject.toml)
flour==3.0 \\
    --hash=sha256:f0
    # via
    #   cake
    #   tart
sugar-cane==4.0 \\
    --hash=sha256:50
    # via flour
tart==5.0 \\
    --hash=sha256:7a
    # via distributed-grader (pyproject.toml)
"""


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["apple"], ["apple", "apple"]),
        (["cake"], ["apple", "apple", "cake", "flour", "sugar-cane"]),
        (["tart"], ["flour", "sugar-cane", "tart"]),
        ([], []),
    ],
)
def test_what_depends_on_nothing_wanted_is_left_out(names, found):
    """In the order of the lock, for every kind of machine."""
    assert [each.name for each in folder.needed(LOCK, names)] == found


def test_a_package_is_kept_with_its_markers_and_hashes():
    """Its comments go."""
    linux, macos = folder.needed(LOCK, ["apple"])
    assert linux.text == "apple==1.0 ; sys_platform == 'linux' \\\n    --hash=sha256:aa"
    assert macos.text.splitlines()[1:] == ["    --hash=sha256:ab \\", "    --hash=sha256:ac"]
    assert linux.wanted_by == {"distributed-grader (pyproject.toml)", "cake"}


def test_what_a_lock_does_not_have_is_told():
    with pytest.raises(GraderError, match="lacks plum; run `make lock`"):
        folder.needed(LOCK, ["cake", "plum"])


def test_the_index_is_found():
    assert folder.indexes(LOCK) == ["--extra-index-url https://example.org/cpu"]


def test_the_engines_own_lock():
    """Without torch a fifth of the packages go, and with all that is asked for nothing does."""
    text = (Path(__file__).resolve().parents[5] / "requirements.lock").read_text()
    everything = folder.packages(text)
    asked_for = {
        each.name
        for each in everything
        if any(name.startswith("distributed-grader (") for name in each.wanted_by)
    }
    assert folder.needed(text, asked_for) == everything
    without = {each.name for each in folder.needed(text, asked_for - {"torch", "setuptools"})}
    assert {each.name for each in everything} - without >= {"torch", "sympy", "setuptools"}
    assert "numpy" in without
