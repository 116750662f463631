"""The wheels of the engine, one for each architecture."""

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from grader import __version__
from grader.course.versions import engine_digest
from grader.model.errors import GraderError

DISTRIBUTION = "distributed-grader"
"""What the engine is called where packages are published."""
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"


@dataclass(frozen=True)
class EngineWheels:
    """The same engine for several architectures."""

    files: tuple[Path, ...]
    requirements: tuple[Requirement, ...]
    """The packages that it depends on, also where an extra is asked for."""

    @classmethod
    def find(cls, folder: Path) -> "EngineWheels":
        """Return the wheels in a folder.

        Raises GraderError where there is none, or one was made from other sources than this engine.
        """
        files = tuple(sorted(folder.glob(f"{_STEM}-*.whl")))
        if not files:
            raise GraderError(
                f"{folder} holds no {_STEM}-*.whl: make the engine's wheels with `make wheels`, or "
                "name their folder with --wheels"
            )
        for file in files:
            _require_this_engine(file)
        return cls(files, tuple(_requirements(files[0])))

    def needs(self, extras: Iterable[str] = ()) -> list[str]:
        """Return the names of the packages that it depends on, with those of some extras."""
        wanted = ("", *extras)
        return [
            canonicalize_name(each.name)
            for each in self.requirements
            if each.marker is None
            or any(each.marker.evaluate({"extra": extra}) for extra in wanted)
        ]


def _require_this_engine(file: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="grader-wheel-") as folder:
        with zipfile.ZipFile(file) as wheel:
            wheel.extractall(folder)
        if engine_digest(Path(folder) / "grader") != engine_digest():
            raise GraderError(
                f"{file} was made from other sources than this engine's; make it again with "
                "`make wheels`"
            )


def _requirements(file: Path) -> Iterator[Requirement]:
    with zipfile.ZipFile(file) as wheel:
        text = wheel.read(f"{_STEM}.dist-info/METADATA").decode()
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist", []):
        yield Requirement(line)
