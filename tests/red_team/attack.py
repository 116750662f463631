"""One hostile submission, and what must hold whatever it does."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.model.report import Verdict

HOSTILE = Path(__file__).resolve().parents[1] / "hostile"
CONTROLS = HOSTILE / "controls"
_LABEL = "attack.toml"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What `attack.toml` says of the submission it lies in."""

    name: str
    files: Mapping[str, bytes]
    """What is handed in, by relative path."""
    about: str
    """One sentence: what it tries."""
    threat: str
    """Which line of the list of threats it belongs to."""
    part: str
    verdicts: frozenset[Verdict]
    """Any other verdict of the part is a failure of the grader."""
    most_points: float = 0
    """What the same code deserves without the attack."""
    least_points: float = 0
    """What it deserves anyway: an attack that hurts only itself is none."""
    assignment: str = "mpi_sgd"
    must_not_appear: tuple[str, ...] = ()
    """Beside the canaries and BREACH: words that nothing the student sees may hold."""
    must_appear: tuple[str, ...] = ()
    """Words that show that the attack was carried out at all."""
    needs_a_person: bool = False
    """The report has to ask for a review."""
    hidden: bool = False
    """Is graded with hidden tests beside the visible ones."""
    slow: bool = False
    """Takes long to grade, so `make acceptance` does it, and `make test` leaves it out."""
    limit_s: float = 240.0

    @classmethod
    def of(cls, folder: Path) -> "Attack":
        """Read a folder; raises TypeError on a key that is missing or unknown."""
        data: dict[str, Any] = tomllib.loads((folder / _LABEL).read_text())
        data["verdicts"] = frozenset(map(Verdict, data["verdicts"]))
        for key in ("must_not_appear", "must_appear"):
            data[key] = tuple(data.get(key, ()))
        return cls(name=folder.name, files=files_of(folder), **data)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return what a folder hands in: all files but the label."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _LABEL and "__pycache__" not in path.parts
    }


def folders(root: Path) -> list[Path]:
    """Return the folders of submissions right below a folder."""
    return sorted(label.parent for label in root.glob(f"*/{_LABEL}"))
