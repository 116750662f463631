"""Words that only the judge may know: wherever a student can see one of them, something leaked."""

import functools
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_SHORTEST = 40
"""Shorter lines, such as `rank = comm.Get_rank()`, anybody may write."""


def _token() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Canaries:
    """Fresh ones for one container."""

    secret: str = field(default_factory=_token)
    """The course secret, as the client sends it."""
    of_judge_file: str = field(default_factory=_token)
    """In a file of the judge's own folder."""
    of_judge_environment: str = field(default_factory=_token)

    def found_in(self, text: str, known: Iterable[str]) -> list[str]:
        """Return what `text` tells that it must not; known: what the attack itself brought."""
        tokens = {
            "the course secret": self.secret,
            "a file of the judge": self.of_judge_file,
            "the judge's environment": self.of_judge_environment,
        }
        found = [f"tells {what}" for what, token in tokens.items() if token in text]
        brought = "\n".join(known)
        lines = {line for line in _course_lines() if line in text and line not in brought}
        return found + [f"tells a line of the course's files: {line!r}" for line in sorted(lines)]


@functools.cache
def _course_lines() -> frozenset[str]:
    """Return the lines of solutions and suites that no student has been given."""
    given = "".join(
        path.read_text()
        for folder in ("student_template", "tests/suites/*/probes", "tests/suites/*/probes.py")
        for path in _python_files(folder)
    )
    lines = set()
    for folder in ("reference", "tests/suites"):
        for path in _python_files(folder):
            if "probes" not in (path.stem, path.parent.name):
                lines |= {line.strip() for line in path.read_text().splitlines()}
    # A docstring is what the report shows of a test; a sentence alone on its line may be one.
    return frozenset(
        line
        for line in lines
        if len(line) >= _SHORTEST
        and line not in given
        and ("(" in line or "=" in line)
        and not line.startswith(('"""', "#"))
    )


def _python_files(pattern: str) -> list[Path]:
    found = list(ROOT.glob(pattern))
    return [each for path in found for each in ([path] if path.is_file() else path.rglob("*.py"))]
