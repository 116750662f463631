"""A recording as a file: signed or not, damaged or too large, each told in one sentence."""

from dataclasses import replace

import pytest

from grader.course.secret import read_key
from grader.model.errors import UsageError
from grader.recording import recording as module
from grader.recording.codec import UnreadableRecording
from grader.recording.recording import Header, RecordedLaunch, Recording, read, write

KEY = b"k" * 32
HEADER = Header("0123", "sealed", {"python": "3.11.7"}, "ab", "mpi_sgd", "bundled", "cd")
LAUNCHES = {"key": RecordedLaunch({"ranks": "1f"}, "the launch of 2 ranks", b"\0observed\xff")}
RECORDING = Recording(HEADER, LAUNCHES)


def test_a_signed_recording_is_authentic(tmp_path):
    """With the right key, and only with that."""
    file = tmp_path / "ring.rec"
    write(file, RECORDING, KEY)
    assert read(file, KEY) == replace(RECORDING, is_authentic=True)
    assert read(file) == read(file, b"another key of so many bytes....") == RECORDING
    write(file, RECORDING)
    assert read(file, KEY) == RECORDING
    assert [each.name for each in tmp_path.iterdir()] == ["ring.rec"]


def test_no_byte_of_a_signed_recording_can_be_changed(tmp_path):
    """Neither of the header nor of a launch; most changes cannot even be read."""
    file = tmp_path / "ring.rec"
    write(file, RECORDING, KEY)
    whole = file.read_bytes()
    for index in range(len(whole)):
        file.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        try:
            assert not read(file, KEY).is_authentic
        except (UsageError, UnreadableRecording) as error:
            assert str(file) in str(error)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a recording"),
        (b"PK\x03\x04", "is not a recording"),
        (b"grader recording\n" + bytes(32), "is damaged"),
        (b"grader recording\n" + bytes(32) + b"\xc1", "is damaged"),
    ],
)
def test_what_is_no_recording_is_told(tmp_path, content, words):
    """With the command that makes one."""
    file = tmp_path / "ring.rec"
    file.write_bytes(content)
    with pytest.raises((UsageError, UnreadableRecording), match=words) as told:
        read(file)
    assert "grade observe" in str(told.value)


def test_a_recording_that_is_too_large_is_not_read(tmp_path):
    """Of ten gigabytes, which take no room on the disk."""
    file = tmp_path / "huge.rec"
    with file.open("wb") as huge:
        huge.truncate(10 << 30)
    with pytest.raises(UsageError, match="is larger than 1,024 MiB, the limit for a recording"):
        read(file)


def test_another_format_is_told(tmp_path, monkeypatch):
    """What a later grader has written is not guessed at."""
    file = tmp_path / "ring.rec"
    write(file, replace(RECORDING, header=replace(HEADER, format=2)))
    with pytest.raises(UsageError, match="has format 2, but this grader reads format 1"):
        read(file)


def test_what_cannot_be_read_or_written_is_told(tmp_path):
    """By the name of the file."""
    with pytest.raises(UsageError, match=r"nowhere\.rec cannot be read: No such file"):
        read(tmp_path / "nowhere.rec")
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "no" / "folder.rec", RECORDING)


@pytest.mark.parametrize(
    ("mode", "content", "words"),
    [(0o644, KEY, "has mode 644"), (0o600, b"short", r"is too short \(5 of at least 32 bytes\)")],
)
def test_a_key_is_the_courses_alone(tmp_path, mode, content, words):
    """And nobody can guess it."""
    file = tmp_path / "key"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(UsageError, match=words):
        read_key(file)
    file.write_bytes(KEY + b"\n")
    file.chmod(0o600)
    assert read_key(file) == KEY
    with pytest.raises(UsageError, match="cannot be read"):
        read_key(tmp_path / "no key")


def test_a_recording_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    """It says how much is allowed, and what to leave out."""
    monkeypatch.setattr(module, "MAX_NUM_BYTES", 100)
    with pytest.raises(UsageError, match=r"the recording is larger than 0 MiB.*with --part"):
        write(tmp_path / "ring.rec", RECORDING)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_its_owners_alone(tmp_path):
    """It holds what a submission printed, and its outputs."""
    write(tmp_path / "ring.rec", RECORDING)
    assert (tmp_path / "ring.rec").stat().st_mode & 0o777 == 0o600
