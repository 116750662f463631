"""What a client sends into a container, up to the bytes that the reading process takes."""

import io
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.intake import stream as intake_stream
from grader.intake import submission as submissions
from grader.intake.stream import pack, read_submission
from grader.model.errors import UsageError

NAMES = st.text("abcä _-.", min_size=1, max_size=20).filter(lambda name: name not in (".", ".."))


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5))
def test_what_is_packed_arrives(files):
    """Any files in a folder come out as they went in."""
    stream = io.BytesIO(pack(submissions.of_files("it", files, notes=("a note",))))
    arrived = read_submission(stream, "it")
    assert (arrived.files, arrived.notes) == (files, ("a note",))


def test_what_follows_the_parcel_is_left_in_the_stream():
    """The stream stays usable: its end tells that the client has gone."""
    stream = io.BytesIO(pack(submissions.of_files("it", {"a.py": b"1"})) + b"more")
    read_submission(stream, "it")
    assert stream.read() == b"more"


def test_all_that_was_found_out_is_sent():
    """Inside, nothing is read again."""
    files, not_read = {"all.ipynb/fed.py": b"{}", "ring.py": b"1"}, {"all.ipynb": "was read"}
    sent = submissions.of_files("it", files, not_read, {"ring.py": 5}, ("a note",))
    assert read_submission(io.BytesIO(pack(sent)), "it") == sent


def test_what_is_no_message_is_one_sentence():
    """Whatever arrives on standard input."""
    with pytest.raises(UsageError, match=r"it arrived damaged: it contains no message \(error\)"):
        read_submission(io.BytesIO(struct.pack(">Q", 3) + b"abc"), "it")


def test_too_large_a_submission_is_refused():
    """By its announced size, before a byte of it is read."""
    with pytest.raises(UsageError, match="the limit is"):
        read_submission(io.BytesIO(struct.pack(">Q", 1 << 60)), "it")


def test_too_long_a_secret_is_refused_on_both_sides():
    """The client says so first; the container does not rely on it."""
    with pytest.raises(UsageError, match="is 5000 bytes long; the limit is 4096"):
        intake_stream.pack_secret(bytes(5000))
    with pytest.raises(UsageError, match="is 5000 bytes long; the limit is 4096"):
        intake_stream.read_secret(io.BytesIO(struct.pack(">Q", 5000)))


@pytest.mark.parametrize("data", [b"", b"1234567"])
def test_no_submission_on_standard_input(data):
    """A person who tries --from-stdin by hand is told what it is for."""
    with pytest.raises(UsageError, match="no submission arrived"):
        read_submission(io.BytesIO(data), "it")


def test_a_submission_that_breaks_off_is_refused():
    """Half a submission is none."""
    sent = pack(submissions.of_files("it", {"a.py": bytes(9000)}))
    with pytest.raises(UsageError, match="ended after 4000 of"):
        read_submission(io.BytesIO(sent[:4008]), "it")


WATCHING = """
import os, sys, time
from grader.intake.stream import when_client_leaves

def leave():
    print("left", flush=True)
    if sys.argv[1] == "orderly":
        os._exit(7)

when_client_leaves(0, leave, patience_s=0.1)
print("waiting", flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize(("way", "code"), [("orderly", 7), ("blocked", 3)])
def test_the_end_of_the_stream_ends_the_process(way, code):
    """Closing the other end calls back, and ends who is blocked; bytes before it do not."""
    watching = subprocess.Popen(
        [sys.executable, "-c", WATCHING, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert watching.stdout.readline() == b"waiting\n"
    watching.stdin.write(b"anything")
    watching.stdin.flush()
    assert watching.poll() is None
    watching.stdin.close()
    assert watching.stdout.read() == b"left\n"
    assert watching.wait(10) == code
    watching.stdout.close()
