"""Labelled submissions: what a grading has to make of each, and whether it did."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.model import PartResult, Verdict
from grader.points import written
from grader.spelling import did_you_mean

FILE = "expected.toml"
MOST_UNFAIR = 0.15
"""By how much of a part what is paid may differ from what a fair person pays."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """What `expected.toml` says of the submission it lies in."""

    about: str
    part: str
    verdict: Verdict
    message: str = ""
    """A pattern; a message, or a note, has to hold it."""
    points: str | float | None = None
    """`all`, `some` or a number; may be left out where there is a fair share."""
    subject: tuple[str, ...] | None = None
    """The tests about this bug: no other may lose points. None when the label does not say."""
    fair_share: float | None = None
    """What a fair person who has read the handout pays for it, as a share of the part's points."""
    deterministic: bool = False
    """The failure is the same each time, also on a busy machine."""
    slow: bool = False
    """Takes long to grade."""
    failing_tests: tuple[str, ...] | None = None
    """The only tests that may fail; None when the label does not say."""

    @classmethod
    def read(cls, folder: Path) -> "Label":
        """Read the label of a submission. Raises GraderError with all that is wrong with it."""
        file = folder / FILE
        try:
            data: dict[str, Any] = tomllib.loads(file.read_text())
        except (OSError, ValueError, RecursionError) as error:
            raise GraderError(f"{file} cannot be read: {error}") from None
        problems = list(_problems(data, folder))
        if problems:
            raise GraderError(f"{file} is not right: {'; '.join(problems)}")
        data["verdict"] = Verdict(data["verdict"])
        for key in ("failing_tests", "subject"):
            if key in data:
                data[key] = tuple(data[key])
        return cls(**data)


def labelled(submissions: Path, assignment: str) -> list[Path]:
    """Return the folders of the labelled submissions of an assignment, `<verdict>/<it>/<bug>`."""
    return sorted(folder for folder in submissions.glob(f"*/{assignment}/*") if folder.is_dir())


def disagreements(label: Label, result: PartResult) -> Iterator[str]:
    """Yield a sentence for each thing in which a graded part is not as its label says."""
    failing = [t for t in result.tests if t.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED)]
    if result.verdict is not label.verdict:
        yield f"expected {label.verdict.value}, found {result.verdict.value}: {result.message}"
    messages = [result.message, *result.notes, *(test.message for test in failing)]
    if not any(re.search(label.message, message) for message in messages):
        yield f"no message holds {label.message!r}; found {' / '.join(filter(None, messages))!r}"
    if not _pays(label.points, result):
        yield f"expected {label.points} points, found {_paid(result)}"
    lost = {test.name for test in result.tests if test.points < test.max_points}
    if label.subject is not None and not lost <= set(label.subject):
        others = ", ".join(sorted(lost - set(label.subject)))
        yield f"points are lost in {others}, which the label does not name as its subject"
    if label.fair_share is not None and result.max_points:
        share = result.points / result.max_points
        if round(abs(share - label.fair_share), 9) > MOST_UNFAIR:
            yield f"a fair person pays {label.fair_share:.0%}, found {_paid(result)}"
    names = {test.name for test in failing}
    if label.failing_tests is not None and names != set(label.failing_tests):
        yield (
            f"expected that {', '.join(sorted(label.failing_tests)) or 'no test'} fails, found "
            f"{', '.join(sorted(names)) or 'none'}"
        )


def _pays(rule: str | float | None, result: PartResult) -> bool:
    """Return whether the points of a part are as the label says: all, some, or a number."""
    if rule is None:
        return True
    if rule == "all":
        return result.points == result.max_points
    if rule == "some":
        return 0 < result.points < result.max_points
    return result.points == rule


def _paid(result: PartResult) -> str:
    return f"{written(result.points)} of {written(result.max_points)}"


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("about", "part", "verdict", "message"), (str,)),
    "points": (str, int, float),
    "fair_share": (int, float),
    **dict.fromkeys(("deterministic", "slow"), (bool,)),
    **dict.fromkeys(("subject", "failing_tests"), (list,)),
}


def _problems(data: dict[str, Any], folder: Path) -> Iterator[str]:
    known = [field.name for field in fields(Label)]
    for key in data.keys() - set(known):
        yield f"unknown key {key!r}, {did_you_mean(key, known)}known are: {', '.join(known)}"
    for key in ("about", "part", "verdict"):
        if key not in data:
            yield f"{key} is missing"
    wrong = {key for key in data.keys() & _KINDS.keys() if type(data[key]) not in _KINDS[key]}
    for key in wrong:
        yield f"{key} is {data[key]!r:.60}, expected a {_KINDS[key][0].__name__}"
    if not wrong:
        yield from _value_problems(data, folder)


def _value_problems(data: dict[str, Any], folder: Path) -> Iterator[str]:
    verdict = data.get("verdict", "")
    if verdict and verdict not in [each.value for each in Verdict]:
        yield f"verdict is {verdict!r}, expected one of {', '.join(e.value for e in Verdict)}"
    elif verdict and verdict != folder.parent.parent.name.upper():
        yield f"verdict is {verdict}, but it lies in the folder {folder.parent.parent.name}"
    if isinstance(data.get("points"), str) and data["points"] not in ("all", "some"):
        yield f"points is {data['points']!r}, expected all, some or a number"
    if "points" not in data and "fair_share" not in data:
        yield "it does not say what is paid: expected points or fair_share"
    if not 0 <= data.get("fair_share", 0) <= 1:
        yield f"fair_share is {data['fair_share']}, expected a share from 0 to 1"
    if not data.get("message") and verdict != Verdict.ACCEPTED.value:
        yield "a failure has a reason: expected a pattern as message"
    try:
        re.compile(data.get("message", ""))
    except re.error as error:
        yield f"message is no pattern: {error}"
