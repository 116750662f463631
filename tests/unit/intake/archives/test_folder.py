"""A folder of hostile make: nothing outside of it is read, and nothing that is no plain file."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.intake import submission as submissions
from grader.intake.archives import folder as folders
from grader.intake.archives.entries import (
    IS_A_LINK,
    IS_OF_A_TOOL,
    IS_OF_NO_KIND,
    IS_SPECIAL,
    Listing,
)
from grader.intake.archives.folder import of_folder
from grader.model.errors import UsageError

WANTED = ["ring.py", "sync.py", "part1/main.py"]
CANARY = b"what nobody may read"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "main.py").write_bytes(CANARY)
    folder = tmp_path / "it"
    (folder / "part1").mkdir(parents=True)
    (folder / "part1" / "main.py").write_bytes(b"1")
    (folder / "ring.py").write_bytes(b"x = 1\n")
    return folder


@contextmanager
def listed(root: Path) -> Iterator[Listing]:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        yield of_folder(root, descriptor)
    finally:
        os.close(descriptor)


def not_read_of(root: Path) -> dict[str, str]:
    return dict(submissions.read(root, WANTED).not_read)


def test_links_are_left_out_and_named(root):
    """To a file, to a folder, to nothing, and to itself."""
    elsewhere = root.parent / "elsewhere"
    (root / "sync.py").symlink_to(elsewhere / "main.py")
    (root / "a").symlink_to(elsewhere)
    (root / "b").symlink_to("/nowhere")
    (root / "c").symlink_to("c")
    found = submissions.read(root, WANTED)
    assert set(found.files) == {"ring.py", "part1/main.py"}
    assert found.not_read == dict.fromkeys(("a", "b", "c", "sync.py"), IS_A_LINK)


def test_pipes_sockets_and_devices_are_never_opened(root, monkeypatch):
    """Opening a pipe waits for a writer, opening a device can do anything."""
    opened = []
    really_open = os.open

    def watched(path, flags, *more, **options):
        opened.append(path)
        return really_open(path, flags, *more, **options)

    os.mkfifo(root / "sync.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        monkeypatch.setattr(os, "open", watched)
        assert not_read_of(root) == {"socket": IS_SPECIAL, "sync.py": IS_SPECIAL}
    assert not {"sync.py", "socket"} & set(opened)


def test_a_second_name_of_somebody_elses_file_is_left_out(root, monkeypatch):
    """One of the owner's own is what tools make that save space."""
    os.link(root / "ring.py", root / "sync.py")
    assert set(submissions.read(root, WANTED).files) == {"ring.py", "sync.py", "part1/main.py"}
    really_fstat = os.fstat

    def of_another_owner(descriptor):
        info = really_fstat(descriptor)
        if stat.S_ISDIR(info.st_mode):
            info = os.stat_result([*info[:4], info.st_uid + 1, *info[5:]])
        return info

    monkeypatch.setattr(os, "fstat", of_another_owner)
    monkeypatch.setattr(folders, "_devices_of_the_system", set)
    not_read = not_read_of(root)
    assert set(not_read) == {"ring.py", "sync.py"}
    assert all("hard link" in reason for reason in not_read.values())


@pytest.mark.parametrize("become", ["longer", "shorter", "a link", "a pipe", "nothing"])
def test_a_file_that_changes_while_it_is_read_is_refused(root, become):
    """Whatever it has become since it was listed."""
    file = root / "ring.py"
    with listed(root) as found:
        if become == "longer":
            file.write_bytes(b"x = 1\n" * 2)
        elif become == "shorter":
            file.write_bytes(b"")
        else:
            file.unlink()
        if become == "a link":
            file.symlink_to(root.parent / "elsewhere" / "main.py")
        elif become == "a pipe":
            os.mkfifo(file)
        with pytest.raises(UsageError, match=r"it/ring\.py changed while it was being read; try"):
            found["ring.py"].read()


def test_a_folder_that_becomes_a_link_is_not_followed(root):
    """Between the look at it and the reading of what is in it."""
    with listed(root) as found:
        (root / "part1").rename(root / "was")
        (root / "part1").symlink_to(root.parent / "elsewhere")
        with pytest.raises(UsageError, match=r"part1/main\.py changed while it was being read"):
            found["part1/main.py"].read()


def test_the_folder_itself_may_move(root):
    """It is held by its descriptor."""
    with listed(root) as found:
        root.rename(root.parent / "moved")
        root.symlink_to(root.parent / "elsewhere")
        assert found["part1/main.py"].read() == b"1"


def test_a_huge_sparse_file_is_left_out(root):
    """It takes no room, and says that it has a terabyte."""
    (root / "sync.py").touch()
    os.truncate(root / "sync.py", 1 << 40)
    assert not_read_of(root) == {"sync.py": "is larger than 32 MiB"}


@pytest.mark.parametrize("name", ["a\nb.py", "\x1b[2Jb.py", "a\u202eyp.b", "a\\b.py"])
def test_names_that_cannot_be_shown_are_left_out(root, name):
    """They are named as far as they can be."""
    (root / name).write_bytes(b"1")
    ((shown, reason),) = not_read_of(root).items()
    assert shown.isprintable()
    assert "cannot be shown" in reason


def test_names_that_are_one_on_other_systems_are_said(root):
    """By case, by how an accent is written, by a space at the end, which is no script."""
    for name in ("Ring.py", "ring.py ", "\u00e9.py", "e\u0301.py"):
        (root / name).write_bytes(b"2")
    found = submissions.read(root, WANTED)
    assert set(found.files) == {"Ring.py", "ring.py", "\u00e9.py", "e\u0301.py", "part1/main.py"}
    assert set(found.not_read) == {"ring.py "}
    assert found.notes == (
        "Ring.py and ring.py are the same name on some systems",
        "e\u0301.py and \u00e9.py are the same name on some systems",
    )


def test_too_many_entries_are_one_sentence(root, monkeypatch):
    """No list of them is made."""
    monkeypatch.setattr(folders, "MAX_ENTRIES", 20)
    for number in range(30):
        (root / f"{number}.txt").touch()
    with pytest.raises(
        UsageError, match="it contains more than 20 files and folders; hand in only"
    ):
        submissions.read(root, WANTED)


def test_a_deep_tree_is_not_walked(root):
    """Some levels down are enough; the folder that is not looked into is told."""
    deep = root / "x"
    for _ in range(300):
        deep = deep / "x"
    deep.mkdir(parents=True)
    ((path, reason),) = not_read_of(root).items()
    assert path == "/".join("x" * 12)
    assert "folders deep" in reason


def test_folders_of_tools_are_one_row_each(root):
    """Links of that name as well; files of that name are files."""
    for name in (".git", "__pycache__"):
        (root / "part1" / name).mkdir()
        (root / "part1" / name / "ring.py").touch()
    (root / "venv").symlink_to(root.parent / "elsewhere")
    (root / "node_modules").touch()
    not_read = not_read_of(root)
    assert not_read.pop("node_modules") == IS_OF_NO_KIND
    assert not_read == dict.fromkeys(("part1/.git", "part1/__pycache__", "venv"), IS_OF_A_TOOL)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("folder", ["/proc", "/proc/self", "/sys"])
def test_folders_of_the_system_are_refused(folder):
    """Reading their files can wait, act or never end."""
    with pytest.raises(UsageError, match=f"{folder} belongs to the running system; name the fold"):
        submissions.read(Path(folder), WANTED)


def test_a_pipe_as_the_submission_is_refused(tmp_path):
    """At once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="neither a folder nor a zip or tar"):
        submissions.read(tmp_path / "pipe", WANTED)


def test_many_notes_are_cut(root):
    """The rest is counted."""
    for number in range(25):
        for name in (f"a{number:02}.py", f"A{number:02}.py"):
            (root / name).touch()
    notes = submissions.read(root, WANTED).notes
    assert len(notes) == 21
    assert notes[-1] == "and 5 more, not shown"
