"""The pictures that a script has drawn."""

from pathlib import Path

_PICTURES_BEGIN = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".jpeg": b"\xff\xd8\xff",
    ".pdf": b"%PDF",
    ".svg": b"<",
}


def pictures():
    """Return the names of the pictures below figures/, one a line; `!` marks other files."""
    files = sorted(path for path in Path("figures").rglob("*") if path.is_file())
    return "\n".join(("" if _is_picture(path) else "!") + path.as_posix() for path in files[:20])


def _is_picture(path):
    """Return whether a file begins as its name says."""
    begins = _PICTURES_BEGIN.get(path.suffix.lower())
    return begins is not None and path.read_bytes().startswith(begins)
