"""Labelled submissions: what a grading has to make of each, and whether it did."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from grader import strict_toml
from grader.model import PartResult, Verdict
from grader.points import written
from grader.strict_toml import Table, found_text

FILE = "expected.toml"
MOST_UNFAIR = 0.15
"""By how much of a part what is paid may differ from what a fair person pays."""


Text = Annotated[str, Meta(description="a text")]
Tests = Annotated[tuple[str, ...], Meta(description="a list of names of tests")]


class Label(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `expected.toml` says of the submission it lies in."""

    about: Text
    part: Text
    verdict: Annotated[str, Meta(description="a verdict")]
    message: Text = ""
    """A pattern; a message, or a note, has to hold it."""
    points: Annotated[str | float, Meta(description="all, some or a number")] | None = None
    """`all`, `some` or a number; may be left out where there is a fair share."""
    subject: Tests | None = None
    """The tests about this bug: no other may lose points. None when the label does not say."""
    fair_share: Annotated[float, Meta(ge=0, le=1, description="a share from 0 to 1")] | None = None
    """What a fair person who has read the handout pays for it, as a share of the part's points."""
    deterministic: Annotated[bool, Meta(description="true or false")] = False
    """The failure is the same each time, also on a busy machine."""
    slow: Annotated[bool, Meta(description="true or false")] = False
    """Takes long to grade."""
    failing_tests: Tests | None = None
    """The only tests that may fail; None when the label does not say."""


def read_label(folder: Path) -> Label:
    """Read the label of a submission. Raises GraderError with each mistake of it."""
    return strict_toml.read(folder / FILE, Label, lambda data: _cross_check(data, folder))


def labelled(submissions: Path, assignment: str) -> list[Path]:
    """Return the folders of the labelled submissions of an assignment, `<verdict>/<it>/<bug>`."""
    return sorted(folder for folder in submissions.glob(f"*/{assignment}/*") if folder.is_dir())


def disagreements(label: Label, result: PartResult) -> Iterator[str]:
    """Yield a sentence for each thing in which a graded part is not as its label says."""
    failing = [t for t in result.tests if t.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED)]
    if result.verdict.value != label.verdict:
        yield f"expected {label.verdict}, found {result.verdict.value}: {result.message}"
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


def _cross_check(data: Table, folder: Path) -> Iterator[str]:
    """Yield what is wrong between the values of a label, and with where it lies."""
    verdict, lies_in = data.get("verdict"), folder.parent.parent.name
    if verdict is not None and verdict not in [each.value for each in Verdict]:
        known = ", ".join(each.value for each in Verdict)
        yield f"verdict: found {found_text(verdict)}; expected one of {known}"
    elif verdict is not None and verdict != lies_in.upper():
        yield f"verdict: found {verdict}; expected {lies_in.upper()}, as its folder {lies_in} says"
    if isinstance(data.get("points"), str) and data["points"] not in ("all", "some"):
        yield f"points: found {found_text(data['points'])}; expected all, some or a number"
    if "points" not in data and "fair_share" not in data:
        yield "points: missing; expected points or fair_share: what is paid"
    if not data.get("message") and verdict != Verdict.ACCEPTED.value:
        yield "message: missing; expected a pattern, since a failure has a reason"
    try:
        re.compile(data.get("message") or "")
    except re.error as error:
        yield f"message: found {found_text(data['message'])}; expected a pattern: {error}"
