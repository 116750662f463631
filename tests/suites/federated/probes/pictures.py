"""The pictures that a script has drawn."""

from pathlib import Path
from xml.etree import ElementTree

_JPEG = (b"\xff\xd8\xff", b"\xff\xda")
_BEGINS_AND_HOLDS = {
    ".png": (b"\x89PNG\r\n\x1a\n", b"IDAT"),
    ".jpg": _JPEG,
    ".jpeg": _JPEG,
    ".pdf": (b"%PDF", b"stream"),
}
_DRAWING = frozenset(
    ("circle", "ellipse", "image", "line", "path", "polygon", "polyline", "rect", "text", "use")
)
"""The elements of an .svg that draw something."""


def pictures():
    """Return the names of the pictures below figures/, one a line; `!` marks other files."""
    files = sorted(path for path in Path("figures").rglob("*") if path.is_file())
    return "\n".join(("" if _is_picture(path) else "!") + path.as_posix() for path in files[:20])


def _is_picture(path):
    """Return whether a file is what its name says, and draws something."""
    suffix = path.suffix.lower()
    if suffix == ".svg":
        return _draws(path)
    begin, held = _BEGINS_AND_HOLDS.get(suffix, (b"", b""))
    data = path.read_bytes()
    return bool(begin) and data.startswith(begin) and held in data


def _draws(path):
    """Return whether the root of an .svg is `svg`, and an element of it draws something."""
    try:
        root, *elements = ElementTree.parse(path).iter()
    except (ElementTree.ParseError, LookupError, ValueError):  # an encoding may be unknown
        return False
    names = [str(each.tag).rpartition("}")[2] for each in (root, *elements)]
    return names[0] == "svg" and not _DRAWING.isdisjoint(names[1:])
