"""A new assignment that grades at once: a small one, copied under another name."""

from collections.abc import Iterator
from pathlib import Path

from grader.authoring.template import generate
from grader.course import FILE
from grader.errors import UsageError

_SKELETON = Path(__file__).parent / "new_assignment"
_NAME = "example"
"""What the assignment of the skeleton is called."""


def write(root: Path, name: str) -> list[Path]:
    """Write a new assignment into the course in a folder, which is made one if it is not yet.

    Returns the files that were written, the template among them. Raises UsageError, before anything
    is written, for a name that is none of a Python package or files that are in the way.
    """
    if not name.isidentifier() or name != name.lower():
        raise UsageError(
            f"{name!r} cannot name an assignment: expected a name as of a Python package, such as "
            "halo_exchange"
        )
    files = {root / path: text for path, text in _renamed(name) if path.name != FILE}
    taken = [path for path in files if path.exists()]
    if taken:
        raise UsageError(f"{taken[0]} exists: choose another name, so that nothing is overwritten")
    if not (root / FILE).exists():
        files = {root / FILE: (_SKELETON / FILE).read_text(), **files}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [*files, *generate(root / "reference" / name, root / "student_template" / name)]


def _renamed(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the skeleton's files, by their paths in a course, with the name in place of its own."""
    for file in sorted(_SKELETON.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            parts = [name if part == _NAME else part for part in file.relative_to(_SKELETON).parts]
            yield (
                Path(*parts),
                file.read_text().replace(f"assignment {_NAME}", f"assignment {name}"),
            )
