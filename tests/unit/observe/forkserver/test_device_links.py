"""Links in /dev: gone while ranks have others beside them, and there again after."""

from grader.observe.forkserver import device_links


def test_links_are_taken_away_and_come_back(tmp_path, monkeypatch):
    """Also by another process than the one that took them, which may have been killed."""
    monkeypatch.setattr(device_links, "is_the_machines_own", lambda: False)
    (tmp_path / "null").write_text("a device")
    (tmp_path / "stdin").symlink_to("/proc/self/fd/0")
    (tmp_path / "someones").symlink_to("null")
    device_links.take_away(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["null"]
    device_links.put_back(tmp_path)
    device_links.put_back(tmp_path)
    assert str((tmp_path / "stdin").readlink()) == "/proc/self/fd/0"
    assert not (tmp_path / "someones").is_symlink()
    assert (tmp_path / "null").read_text() == "a device"


def test_links_of_the_machine_itself_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(device_links, "is_the_machines_own", lambda: True)
    (tmp_path / "stdin").symlink_to("/proc/self/fd/0")
    device_links.take_away(tmp_path)
    assert (tmp_path / "stdin").is_symlink()
