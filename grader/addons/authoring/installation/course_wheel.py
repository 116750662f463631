"""A course as a wheel: the files of its students' edition, which `grade` finds once installed."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.addons.authoring.installation.engine_wheels import DISTRIBUTION
from grader.course.course import Course
from grader.course.courses import GROUP
from grader.course.edition import Files

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time of a zip: the same files make the same wheel."""


def name_of(course: Course) -> str:
    """Return what the wheel of a course is called where packages are installed."""
    return f"{course.name.replace('_', '-')}-course"


def version_of(files: Files) -> str:
    """Return the version of an edition: another as soon as a file is another."""
    digest = hashlib.sha256()
    for path, file in sorted(files.items()):
        digest.update(f"{path}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    return f"0.{int(digest.hexdigest()[:12], 16)}"


def make(course: Course, files: Files) -> tuple[str, bytes]:
    """Return the wheel of an edition of a course: the name of its file, and its bytes.

    By the Wheel format 1.0, with one entry point that names the folder of the course.
    """
    name, version = name_of(course), version_of(files)
    stem = f"{name.replace('-', '_')}-{version}"
    folder = f"grader_course_{course.name.replace('-', '_')}"
    contents = {f"{folder}/{path}": file.read_bytes() for path, file in files.items()}
    info = f"{stem}.dist-info"
    for file_name, lines in {
        "METADATA": (
            *("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"),
            *(f"Summary: {course.title}", f"Requires-Dist: {DISTRIBUTION}"),
        ),
        "WHEEL": (
            *("Wheel-Version: 1.0", "Generator: grade build"),
            *("Root-Is-Purelib: true", "Tag: py3-none-any"),
        ),
        "entry_points.txt": (f"[{GROUP}]", f"{course.name} = {folder}"),
    }.items():
        contents[f"{info}/{file_name}"] = "".join(f"{line}\n" for line in lines).encode()
    contents[f"{info}/RECORD"] = _record(contents, f"{info}/RECORD")
    return f"{stem}-py3-none-any.whl", _zipped(contents)


def _record(contents: Mapping[str, bytes], own_name: str) -> bytes:
    """Return the list of all files with their digests, in which it names itself without one."""
    lines = [
        f"{PurePosixPath(name)},{_digest(data)},{len(data)}" for name, data in contents.items()
    ]
    return "\n".join([*lines, f"{own_name},,", ""]).encode()


def _digest(data: bytes) -> str:
    encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={encoded.decode()}"


def _zipped(contents: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)
    return buffer.getvalue()
