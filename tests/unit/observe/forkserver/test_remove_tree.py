"""Removing what a hostile user left: everything goes, and nothing that a link points to."""

import os
from pathlib import Path

import pytest

from grader.observe.forkserver.remove_tree import names_in, remove_contents, unlock
from grader.observe.run_control.users import run_uids


def test_a_tree_deeper_than_recursion_and_paths_allow_is_removed(tmp_path):
    """Two thousand folders with long names: no path reaches the bottom."""
    name = "d" * 250
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2000):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    remove_contents(tmp_path)
    assert names_in(tmp_path) == []


def test_odd_names_are_names(tmp_path):
    """A newline, an option, bytes that are no text, the longest name there may be."""
    for name in (b"-rf", b"a\nb", b"\xff\xfe", b" ", b"*", b"x" * 255):
        (tmp_path / os.fsdecode(name)).write_text("x")
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / os.fsdecode(name)).mkdir()
    remove_contents(tmp_path)
    assert names_in(tmp_path) == []


def test_links_are_removed_not_followed(tmp_path):
    """Neither a link to a folder nor one within a folder leads out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    inside = tmp_path / "inside"
    (inside / "folder").mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (inside / "folder" / "link").symlink_to(outside)
    (inside / "dangling").symlink_to("/nowhere")
    remove_contents(inside)
    assert names_in(inside) == []
    assert (outside / "kept").read_text() == "x"


def test_a_folder_that_is_itself_a_link_is_left_alone(tmp_path):
    """What is to be emptied has to be a folder."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "kept").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    remove_contents(tmp_path / "link")
    assert (tmp_path / "real" / "kept").exists()


def test_other_kinds_of_files_are_removed(tmp_path):
    """A pipe nobody reads does not block, a sparse file does not count."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "sparse").chmod(0)
    remove_contents(tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("mode", [0o000, 0o100, 0o444])
def test_locked_folders_are_unlocked_by_their_owner(open_to_all, mode):
    """Without the rights of root, which no supervisor has: locked folders within locked folders."""
    uid = next(run_uids())
    folder = open_to_all / "folder"
    for path in (folder, folder / "a", folder / "a" / "b", folder / "a" / "b" / "c"):
        path.mkdir()
        os.chown(path, uid, uid)
    (folder / "a" / "b" / "c" / "file").write_text("x")
    for path in (folder / "a" / "b" / "c", folder / "a" / "b", folder / "a"):
        path.chmod(mode)
    assert _as_user(uid, lambda: remove_contents(folder)) == 0
    assert names_in(folder) == []


@pytest.mark.skipif(os.getuid() != 0, reason="makes files of another user")
def test_only_one_users_entries_are_removed(tmp_path):
    """In a folder that everybody writes to, the others' files stay."""
    for name, uid in (("theirs", 1_234_567), ("others", 1_234_568), ("ours", 0)):
        (tmp_path / name).write_text("x")
        os.chown(tmp_path / name, uid, uid)
    remove_contents(tmp_path, owner=1_234_567)
    assert sorted(names_in(tmp_path)) == ["others", "ours"]
    assert names_in(tmp_path, owner=1_234_568) == ["others"]


def test_a_missing_folder_is_no_error():
    """Not every system has /run/lock."""
    remove_contents(Path("/nowhere/at/all"))
    assert names_in(Path("/nowhere/at/all")) == []


def _as_user(uid, act) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            act()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_folder_of_ours_that_is_locked_is_unlocked(tmp_path):
    """So that it can be emptied; a link to one leads nowhere."""
    for name in ("locked", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0)
    (tmp_path / "link").symlink_to("other")
    unlock(tmp_path / "locked")
    unlock(tmp_path / "link")
    unlock(tmp_path / "missing")
    assert (tmp_path / "locked").stat().st_mode & 0o777 == 0o775
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0
