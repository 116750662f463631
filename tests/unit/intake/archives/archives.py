"""Archives of hostile make, for tests."""

import io
import stat
import tarfile
import zipfile
from collections.abc import Sequence


def zip_of(*members: tuple[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def zip_with_modes(*members: tuple[str, bytes, int]) -> bytes:
    """Return a zip of (name, content, kind as of stat)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content, kind in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (kind | stat.S_IRWXU) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def tar_of(*members: tuple[str, bytes] | tarfile.TarInfo, packed: str = "", **options) -> bytes:
    """Return a tar of (name, content), or of members without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{packed}", **options) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", **fields) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    for field, value in fields.items():
        setattr(info, field, value)
    return info


PACKINGS: Sequence[str] = ("", "gz", "bz2", "xz")
