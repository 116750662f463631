"""What archives of hostile make hold: contents, names, and how they are written.

STOLEN is where a model solution lies in the container: a link there, if followed, is paid in full.
"""

import io
import tarfile
import zipfile
from pathlib import Path

FILE = "my_naive_allreduce.py"
STOLEN = f"/opt/course/reference/mpi_sgd/{FILE}"
WRONG = b"def allreduce(send, recv, comm, op):\n    recv[...] = 0\n"

SEEN = b"def allreduce(send, recv, comm, op):\n    recv[...] = 1\n"
"""What another program shows in place of what is graded, or the reverse."""
LISTED, END = b"PK\1\2", b"PK\5\6"
END_NUM_BYTES = 22
"""Without its comment."""


def zip_bytes(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return held.getvalue()


def tar_bytes(*members: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


def write_zip(place: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return place


def tar_member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    member.size = len(WRONG) if kind == tarfile.REGTYPE else 0
    member.devmajor, member.devminor = 1, 5
    return member


def write_tar(place: Path, members: list[tarfile.TarInfo]) -> Path:
    with tarfile.open(place, "w", format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(WRONG) if member.size else None)
    return place
