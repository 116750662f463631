"""Recorded launches in the cache: found again, bounded, never a reason to fail."""

import os

import pytest

from grader.recording.recording import RecordedLaunch
from grader.recording.store import Store, cache_folder


def launch(num_bytes=100):
    return RecordedLaunch({"ranks": "1f"}, "the launch of 2 ranks", bytes(num_bytes))


def test_what_was_kept_is_found_again(tmp_path):
    """By its key, and by no other observer."""
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    assert store.find("k") == launch()
    assert list(store.known()) == [launch()]
    assert store.find("other") is None
    assert Store(tmp_path, "two").find("k") is None
    assert list(Store(tmp_path, "two").known()) == []


@pytest.mark.parametrize("content", [b"", b"\xc1", b"half a launch"])
def test_what_cannot_be_read_is_not_there(tmp_path, content):
    """It is observed anew."""
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    (file,) = (tmp_path / "one").iterdir()
    file.write_bytes(content)
    assert store.find("k") is None


def test_what_cannot_be_written_is_not_kept(tmp_path):
    """A full disk costs time, and no mark."""
    (tmp_path / "one").write_text("a file where the folder should be")
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    assert store.find("k") is None


def test_other_observers_launches_are_removed_first(tmp_path):
    """Then those that were not used for longest."""
    mine = Store(tmp_path, "mine", max_num_bytes=2 * 170)
    Store(tmp_path, "other").keep("x", launch())
    for age, key in enumerate(("old", "older", "oldest"), 1):
        mine.keep(key, launch())
        file = tmp_path / "mine" / f"{key}.launch"
        os.utime(file, (10**9 - age, 10**9 - age))
    mine.prune()
    assert not (tmp_path / "other").exists()
    assert sorted(each.name for each in (tmp_path / "mine").iterdir()) == [
        "old.launch",
        "older.launch",
    ]
    assert mine.find("older") is not None
    mine.keep("new", launch())
    mine.prune()
    assert mine.find("older") is not None, "what is used is not the oldest any more"


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    """As every program's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "grader"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/student")
    assert str(cache_folder()) == "/home/student/.cache/grader"
