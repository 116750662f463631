"""What a student handed in: found in a folder or a zip, read once, never executed here."""

import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader.errors import UsageError

_MAX_FILE_NUM_BYTES = 32 << 20
_MAX_FILES = 2000
_SKIPPED_FOLDERS = {"__pycache__", ".git", ".venv", "venv", "node_modules", "__MACOSX"}


@dataclass(frozen=True)
class Submission:
    """The files of one submission, by name, as they lie in the folder that counts."""

    origin: str
    """As the user named it."""
    files: Mapping[str, bytes]
    digest: str
    """SHA-256 over names and contents of the files."""

    def source_files(self, support: Iterable[str]) -> dict[str, bytes]:
        """Return the Python files a rank may import; support files are always the grader's."""
        ours = set(support)
        return {
            name: content
            for name, content in self.files.items()
            if name.endswith(".py") and name not in ours
        }


def read(path: Path, wanted: Iterable[str]) -> Submission:
    """Read a submission folder or zip; its files may lie in the root or one folder down.

    wanted: the file names the assignment asks for, which tell the folder that counts.
    Raises UsageError when there is nothing to grade.
    """
    if not path.exists():
        raise UsageError(f"{path} does not exist; name the folder with the submission's files")
    found = _from_zip(path) if path.is_file() else _from_folder(path)
    return from_files(str(path), list(found), wanted)


def from_files(
    origin: str, found: Iterable[tuple[str, bytes]], wanted: Iterable[str]
) -> Submission:
    """Return the submission that lies in these files, given as (relative path, content).

    Raises UsageError when there are none.
    """
    by_folder: dict[str, dict[str, bytes]] = {}
    for name, content in found:
        folder, _, file = name.rpartition("/")
        by_folder.setdefault(folder, {})[file] = content
    if not by_folder:
        raise UsageError(f"{origin} is empty; put the files to hand in there")
    names = set(wanted)
    best = max(sorted(by_folder), key=lambda folder: len(names & set(by_folder[folder])))
    if not names & set(by_folder[best]):
        best = "" if "" in by_folder else best
    files = dict(sorted(by_folder[best].items()))
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{len(name)} {name} {len(content)} ".encode() + content)
    return Submission(origin, files, digest.hexdigest())


def _from_folder(root: Path) -> Iterable[tuple[str, bytes]]:
    """Yield the regular files of a folder and of the folders in it; links are not followed."""
    try:
        entries = sorted(root.iterdir())
        for folder in [root, *(e for e in entries if e.is_dir() and not e.is_symlink())]:
            if folder.name in _SKIPPED_FOLDERS and folder != root:
                continue
            for entry in sorted(folder.iterdir()):
                if entry.is_file() and not entry.is_symlink():
                    if entry.stat().st_size > _MAX_FILE_NUM_BYTES:
                        continue
                    yield entry.relative_to(root).as_posix(), entry.read_bytes()
    except PermissionError as error:
        raise UsageError(f"{error.filename} cannot be read; check its permissions") from None


def _from_zip(path: Path) -> Iterable[tuple[str, bytes]]:
    """Yield the files of a zip that lie in its root or one folder down."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    except (zipfile.BadZipFile, OSError):
        raise UsageError(
            f"{path} is a file, not a folder; a folder or a zip of one is expected"
        ) from None
    with archive:
        for entry in archive.infolist()[:_MAX_FILES]:
            name = PurePosixPath(entry.filename)
            plain = len(name.parts) <= 2 and ".." not in name.parts and not name.is_absolute()
            skipped = entry.is_dir() or name.parts[0] in _SKIPPED_FOLDERS
            if plain and not skipped and entry.file_size <= _MAX_FILE_NUM_BYTES:
                with archive.open(entry) as member:
                    content = member.read(_MAX_FILE_NUM_BYTES + 1)
                if len(content) <= _MAX_FILE_NUM_BYTES:
                    yield name.as_posix(), content
