"""Recorded launches in the cache: found again, bounded, never a reason to fail."""

import os
from dataclasses import replace

import numpy as np
import pytest
from observations import answered

from grader.observe.interposer.build import cache_folder
from grader.recording.codec import encode
from grader.recording.observation import LaunchObservation
from grader.recording.recording import RecordedLaunch
from grader.recording.store import Store

NOISE = np.random.default_rng(1).random(5000)


def launch(array=NOISE):
    case = answered()
    ranks = tuple(replace(rank, arrays={"sum": array}) for rank in case.ranks)
    observed = LaunchObservation((replace(case, ranks=ranks),))
    return RecordedLaunch({"ranks": "1f"}, "the launch of 2 ranks", encode(observed))


def test_what_was_kept_is_found_again(tmp_path):
    """By its key, and by no other observer."""
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    assert store.find("k") == launch()
    assert store.find("other") is None
    assert Store(tmp_path, "two").find("k") is None


@pytest.mark.parametrize("content", [b"", b"\xc1", b"half a launch"])
def test_what_cannot_be_read_is_not_there(tmp_path, content):
    """It is observed anew."""
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    (file,) = (tmp_path / "one").glob("*.launch")
    file.write_bytes(content)
    assert store.find("k") is None


def test_what_cannot_be_written_is_not_kept(tmp_path):
    """A full disk costs time, and no mark."""
    (tmp_path / "one").write_text("a file where the folder should be")
    store = Store(tmp_path, "one")
    store.keep("k", launch())
    assert store.find("k") is None


def test_equal_arrays_of_several_launches_take_room_once(tmp_path):
    """Many submissions compute the same; without its array a launch is not there."""
    store = Store(tmp_path, "one")
    store.keep("a", launch())
    store.keep("b", launch())
    (array,) = (tmp_path / "one").glob("*.array")
    assert NOISE.nbytes <= array.stat().st_size < 1.1 * NOISE.nbytes
    assert store.find("a") == store.find("b") == launch()
    array.unlink()
    assert store.find("a") is None
    store.keep("a", launch())
    assert store.find("b") == launch()


def test_other_observers_launches_are_removed_first(tmp_path):
    """Then those that were not used for longest."""
    Store(tmp_path, "other").keep("x", launch())
    num_bytes = sum(file.stat().st_size for file in (tmp_path / "other").iterdir())
    mine = Store(tmp_path, "mine", max_num_bytes=2 * num_bytes + 1000)
    for age, key in enumerate(("old", "older", "oldest"), 1):
        before = set((tmp_path / "mine").glob("*"))
        mine.keep(key, launch(NOISE + age))
        for file in set((tmp_path / "mine").glob("*")) - before:
            os.utime(file, (10**9 - age, 10**9 - age))
    mine.prune()
    assert not (tmp_path / "other").exists()
    kept = {key: mine.find(key) is not None for key in ("old", "older", "oldest")}
    assert kept == {"old": True, "older": True, "oldest": False}
    mine.find("older")
    for file in (tmp_path / "mine").glob("old.launch"):
        os.utime(file, (10**9, 10**9))
    mine.keep("new", launch(NOISE - 1))
    mine.prune()
    assert mine.find("older") is not None, "what is used is not the oldest any more"


def test_the_cache_is_where_the_user_wants_it(tmp_path, monkeypatch):
    """As every program's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "grader"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/student")
    assert str(cache_folder()) == "/home/student/.cache/grader"
