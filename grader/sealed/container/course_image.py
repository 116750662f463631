"""The images of a course: an engine image and, on top of it, what the course holds."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from grader.course.edition import Files

IN_IMAGE = PurePosixPath("/opt/course")
_ROOT_ALONE = 0o600
"""A submission runs as another user: it may read nothing of the course."""


def build_context(base: str, files: Files, labels: Mapping[str, str]) -> bytes:
    """Return the tar that an image is built from: its Dockerfile, and the files of the course.

    base: the engine image. labels: what the image says of itself.
    """
    lines = [f"FROM {base}", f"COPY course {IN_IMAGE}", f"RUN chmod 0700 {IN_IMAGE}"]
    lines += [f"ENV GRADER_COURSE={IN_IMAGE}"]
    if labels.get("grader.edition") == "student":  # who sees the same twice
        lines += ["ENV GRADER_PUBLIC_INPUTS=1"]
    lines += [f'LABEL {name}="{value}"' for name, value in labels.items()]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        _add(tar, "Dockerfile", "\n".join(lines).encode())
        made: set[PurePosixPath] = set()
        for relative, path in sorted(files.items()):
            name = "course" / relative
            for folder in reversed(name.parents[:-1]):
                if folder not in made:
                    made.add(folder)
                    _add_folder(tar, str(folder))
            _add(tar, str(name), path.read_bytes())
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), _ROOT_ALONE
    tar.addfile(entry, io.BytesIO(content))


def _add_folder(tar: tarfile.TarFile, name: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o700
    tar.addfile(entry)
