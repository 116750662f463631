"""How a submission enters the container: the course secret, a tar, and a client that stays.

Both are preceded by their length in eight bytes; without a secret the first length is 0.

The stream is standard input, so that a folder only its owner may read can be graded by a judge
without that right. It stays open after the tar: its end says that the client has gone.
"""

import io
import os
import struct
import tarfile
import threading
from collections.abc import Callable, Mapping
from typing import BinaryIO

from grader.errors import UsageError

MAX_TAR_NUM_BYTES = 128 << 20
MAX_FILES = 2000
_MAX_SECRET_NUM_BYTES = 4096
_MAX_NAME_NUM_BYTES = 255
_MAX_DEPTH = 8
_LENGTH = struct.Struct(">Q")
_NOT_FILES = (tarfile.TarError, EOFError, OverflowError, RecursionError, ValueError)


def pack_secret(secret: bytes) -> bytes:
    """Return what the client sends first. Raises UsageError for a secret that is too long."""
    if len(secret) > _MAX_SECRET_NUM_BYTES:
        raise UsageError(
            f"the course secret has {len(secret)} bytes, at most {_MAX_SECRET_NUM_BYTES} are taken"
        )
    return _LENGTH.pack(len(secret)) + secret


def read_secret(stream: BinaryIO) -> bytes:
    """Return the course secret that a client sends first; empty when it has none."""
    return _read_piece(stream, "course secret", _MAX_SECRET_NUM_BYTES)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return what the client sends for these files: the length, then the tar.

    Raises UsageError when they are more, or larger, than read_submission takes.
    """
    if len(files) > MAX_FILES:
        raise UsageError(
            f"the submission holds {len(files)} files, at most {MAX_FILES} are graded; "
            "hand in only the files that the assignment asks for"
        )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    num_bytes = buffer.tell()
    if num_bytes > MAX_TAR_NUM_BYTES:
        raise UsageError(
            f"the submission's files add up to {num_bytes >> 20} MiB, at most "
            f"{MAX_TAR_NUM_BYTES >> 20} MiB are graded; leave data files out"
        )
    return _LENGTH.pack(num_bytes) + buffer.getvalue()


def read_submission(stream: BinaryIO) -> list[tuple[str, bytes]]:
    """Return the files in what a client sends, as (relative path, content).

    Every entry is distrusted: only regular files with plain relative names, none of them twice and
    none below another, are taken. Raises UsageError for anything else.
    """
    data = _read_piece(stream, "submission", MAX_TAR_NUM_BYTES)
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for entry in archive:
                if len(files) >= MAX_FILES:
                    raise UsageError(f"the submission holds more than {MAX_FILES} files")
                name = _checked_name(entry)
                if name in files:
                    raise UsageError(f"the submission holds {name!r} twice")
                files[name] = _content(archive, entry)
    except _NOT_FILES as error:
        raise UsageError(f"the submission did not arrive as a readable tar: {error}") from None
    for name in files:
        for parent in _parents(name):
            if parent in files:
                raise UsageError(f"the submission holds {parent!r} as a file and as a folder")
    return list(files.items())


def when_client_leaves(file_descriptor: int, leave: Callable[[], None]) -> None:
    """Call `leave`, in a thread of its own, as soon as the stream ends.

    Reads the descriptor itself: a thread that waits in sys.stdin would stop Python from exiting.
    """

    def wait() -> None:
        while os.read(file_descriptor, 4096):
            pass
        leave()

    threading.Thread(target=wait, name="client", daemon=True).start()


def _read_piece(stream: BinaryIO, what: str, max_num_bytes: int) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise UsageError(
            f"no {what} arrived on standard input; --from-stdin is for `grade run DIR`"
        )
    (num_bytes,) = _LENGTH.unpack(head)
    if num_bytes > max_num_bytes:
        raise UsageError(f"the {what} has {num_bytes} bytes, at most {max_num_bytes} are taken")
    data = stream.read(num_bytes)
    if len(data) < num_bytes:
        raise UsageError(f"the {what} broke off after {len(data)} of {num_bytes} bytes")
    return data


def _checked_name(entry: tarfile.TarInfo) -> str:
    name = entry.name
    # A sparse file is a regular one that claims any size in a few bytes.
    if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.sparse is not None:
        raise UsageError(f"the submission holds {name!r}, which is not a regular file")
    try:
        num_bytes = len(name.encode())
    except UnicodeEncodeError:
        raise UsageError(f"the submission holds a file whose name is not text: {name!r}") from None
    parts = name.split("/")
    plain = name.isprintable() and "\\" not in name and not {"", ".", ".."} & set(parts)
    if not plain or num_bytes > _MAX_NAME_NUM_BYTES or len(parts) > _MAX_DEPTH:
        raise UsageError(f"the submission holds a file with a name it must not have: {name[:80]!r}")
    return name


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    member = archive.extractfile(entry)
    content = member.read() if member is not None else b""
    if len(content) != entry.size:
        raise UsageError(f"the submission's {entry.name!r} broke off")
    return content


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
