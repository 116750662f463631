"""The key of pseudonyms is made once, in whole, and never replaced by none."""

import stat

import pytest

from grader.addons.classroom import class_folder
from grader.model.errors import GraderError


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
    with pytest.raises(GraderError, match=r"expected a key of 32. Restore it"):
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
