"""What a class keeps is there in whole; the key of pseudonyms is never replaced by none."""

import json
import stat

import pytest

from grader.addons.classroom import class_command, class_folder
from grader.addons.classroom.class_folder import remove_unfinished, write_atomically
from grader.model.errors import GraderError, UsageError


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path):
    file = tmp_path / "pseudonyms.key"
    name = class_folder.pseudonyms_in(tmp_path).of("anna")
    assert class_folder.pseudonyms_in(tmp_path).of("anna") == name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"half"])
def test_half_a_key_is_refused(tmp_path, content):
    """With an empty one, as a full disk leaves it, anybody could tell whose a pseudonym is."""
    file = tmp_path / "pseudonyms.key"
    file.write_bytes(content)
    with pytest.raises(GraderError, match=r"expected a key of 32 bytes. Restore it"):
        class_folder.pseudonyms_in(tmp_path)


def test_a_key_that_could_not_be_written_is_not_there(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grader.addons.classroom.class_folder.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        class_folder.pseudonyms_in(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_name_in_another_encoding_has_a_pseudonym_as_well():
    """As a folder is called that an old system has packed; it is no reason to grade nobody."""
    names = class_folder.Pseudonyms(bytes(32))
    assert names.of("Ren\udce9") != names.of("Rene")


def test_a_file_is_replaced_in_one_step(tmp_path):
    file = tmp_path / "gradebook.csv"
    write_atomically(file, "one")
    write_atomically(file, {"b": 1, "a": 2})
    assert json.loads(file.read_text()) == {"a": 2, "b": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["gradebook.csv"]


def test_what_was_killed_while_it_wrote_does_not_stay(tmp_path):
    """It may have names in it, which --forget would not find."""
    for folder in ("", "students/s1", "marking/s1"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / ".making-abc").write_text("Ann Lee")
        write_atomically(tmp_path / folder / "kept.csv", "x")
    remove_unfinished(tmp_path)
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["kept.csv"] * 3


@pytest.mark.parametrize("is_file", [False, True])
def test_without_a_folder_of_hand_ins_nothing_is_made(tmp_path, is_file):
    if is_file:
        (tmp_path / "in").write_text("x")
    with pytest.raises(UsageError, match=r"in is not a folder\. Unpack the platform's download"):
        class_command._make_apart(tmp_path / "graded-in", tmp_path / "in")
    assert not (tmp_path / "graded-in").exists()
