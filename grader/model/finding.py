"""What was found out about a submission: a stable key, its facts, and the sentence made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Scalar = str | int | float | bool
Fact = Scalar | tuple[Scalar, ...]


@dataclass(frozen=True)
class Finding:
    """One finding. Its key stays the same when its sentence is reworded."""

    key: str
    """Such as `ring.same_neighbour`; empty where whoever found it has named none."""
    text: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    """What the sentence was made from; `place` and `places` are `file.py:12`."""
    help: str = ""
    """What to do, or where to look; never the solution."""

    @property
    def places(self) -> tuple[str, ...]:
        """Return the lines of the submission that it is about, as `file.py:12`."""
        many, one = self.facts.get("places", ()), self.facts.get("place", "")
        found = (*(many if isinstance(many, tuple) else (many,)), one)
        return tuple(str(each) for each in found if each)

    def __str__(self) -> str:
        """Return sentence and help in one line."""
        return f"{self.text.removesuffix('.')}; {self.help}" if self.help else self.text


def joined(findings: Sequence[Finding]) -> str:
    """Return all that was found in one line."""
    return "; ".join(str(each).removesuffix(".") for each in findings)


def found(key: str, text: str, /, *, help: str = "", **facts: Any) -> Finding:
    """Return a finding.

    key: stands in one place only, where its sentence is made from its facts.
    facts: texts, numbers, and sequences of these; of anything else its text is kept.
    """
    return Finding(key, text, {name: _plain(value) for name, value in facts.items()}, help)


def _plain(value: Any) -> Fact:
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, set | frozenset):
        value = sorted(value, key=lambda each: (str(type(each)), each))
    if isinstance(value, list | tuple | range):
        return tuple(map(_scalar, value))
    return _scalar(value)


def _scalar(value: Any) -> Scalar:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return value if isinstance(value, str | int | float | bool) else str(value)
