"""What the kernel refused is remembered for one boot and one image, and no longer."""

import pytest

from grader.sealed.container import kernel_refusals
from grader.sealed.container.kernel_refusals import VARIABLE, is_known_to_refuse, known, remember


@pytest.fixture
def boot(tmp_path, monkeypatch):
    """Boot the machine under another name, or under none."""

    def boot(name: str | None) -> None:
        file = tmp_path / "boot_id"
        file.unlink(missing_ok=True)
        if name is not None:
            file.write_text(f"{name}\n")
        monkeypatch.setattr(kernel_refusals, "_BOOT_ID", file)

    boot("first")
    return boot


def test_it_is_known_of_the_image_that_was_tried(tmp_path, boot):
    """Nothing is known before, and nothing of another image."""
    folder = tmp_path / "cache" / "selftest"
    assert known(folder, "sha256:1") == ""
    remember(folder, "sha256:1")
    remember(folder, "sha256:1")
    assert (known(folder, "sha256:1"), known(folder, "sha256:2")) == ("first", "")


def test_it_is_forgotten_with_the_next_boot(tmp_path, boot):
    """What an earlier boot left is removed."""
    folder = tmp_path / "selftest"
    remember(folder, "sha256:1")
    boot("second")
    assert known(folder, "sha256:1") == ""
    remember(folder, "sha256:2")
    assert [each.name for each in folder.iterdir()] == ["second sha256:2"]


def test_what_cannot_be_written_is_tried_again(tmp_path, boot):
    """A file is where the folder should be."""
    folder = tmp_path / "selftest"
    folder.touch()
    remember(folder, "sha256:1")
    assert known(folder, "sha256:1") == ""


@pytest.mark.parametrize(
    ("told", "ours", "expected"),
    [
        ("first", "first", True),
        ("first", "second", False),
        ("", "first", False),
        (None, "first", False),
        ("", None, False),
    ],
)
def test_a_container_believes_what_it_is_told_of_its_own_boot(
    boot, monkeypatch, told, ours, expected
):
    """On another machine, or where the kernel gives no name, the selftest tries everything."""
    boot(ours)
    monkeypatch.delenv(VARIABLE, raising=False)
    if told is not None:
        monkeypatch.setenv(VARIABLE, told)
    assert is_known_to_refuse() is expected
