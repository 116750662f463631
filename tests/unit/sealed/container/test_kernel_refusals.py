"""An image that has passed the attempts on the kernel is remembered until the machine reboots."""

import pytest

from grader.commands import running
from grader.sealed.container import kernel_refusals
from grader.sealed.container.kernel_refusals import (
    VARIABLE,
    has_passed_here,
    known_boot,
    remember,
)


@pytest.fixture
def boot(tmp_path, monkeypatch):
    """Boot the machine under another name, or under none."""

    def boot(name: str) -> None:
        (tmp_path / "boot_id").write_text(f"{name}\n")

    monkeypatch.setattr(kernel_refusals, "_BOOT_ID", tmp_path / "boot_id")
    boot("first")
    return boot


def test_an_image_is_remembered_until_the_next_boot(tmp_path, boot):
    """Nothing is known before, and nothing of another image."""
    folder = tmp_path / "cache" / "selftest"
    assert known_boot(folder, "sha256:1") == ""
    remember(folder, "sha256:1")
    assert (known_boot(folder, "sha256:1"), known_boot(folder, "sha256:2")) == ("first", "")
    boot("second")
    assert known_boot(folder, "sha256:1") == ""
    remember(folder, "sha256:1")
    assert known_boot(folder, "sha256:1") == "second"


def test_a_kernel_without_a_name_is_always_tried(tmp_path, boot):
    """As where /proc hides it."""
    boot("")
    remember(tmp_path / "selftest", "sha256:1")
    assert known_boot(tmp_path / "selftest", "sha256:1") == ""


def test_what_cannot_be_written_is_tried_again(tmp_path, boot):
    """A file is where the folder should be, or there is no folder for it."""
    (tmp_path / "selftest").touch()
    for folder in (tmp_path / "selftest", None):
        remember(folder, "sha256:1")
        assert known_boot(folder, "sha256:1") == ""


@pytest.mark.parametrize(
    ("told", "ours", "expected"),
    [
        ("first", "first", True),
        ("first", "second", False),
        ("", "first", False),
        (None, "first", False),
        ("", "", False),
    ],
)
def test_a_container_compares_boots(boot, monkeypatch, told, ours, expected):
    """On another machine, or where the kernel has no name, the selftest tries everything."""
    boot(ours)
    monkeypatch.delenv(VARIABLE, raising=False)
    if told is not None:
        monkeypatch.setenv(VARIABLE, told)
    assert has_passed_here() is expected


def test_only_this_machines_own_engine_is_remembered(monkeypatch, tmp_path):
    """Another engine can have another kernel; a user without a home has no cache."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert running._refusals() == tmp_path / "grader" / "selftest"
    monkeypatch.setenv("DOCKER_HOST", "ssh://elsewhere")
    assert running._refusals() is None
    monkeypatch.delenv("DOCKER_HOST")

    def cache_folder():
        raise RuntimeError("no home")

    monkeypatch.setattr(running, "cache_folder", cache_folder)
    assert running._refusals() is None
