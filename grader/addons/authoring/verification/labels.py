"""Labelled submissions: the expected result of each, and whether a grading agrees."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from grader.course import strict_toml
from grader.course.strict_toml import Table, found_text
from grader.model.finding import Finding
from grader.model.points import written
from grader.model.report import PartResult, Verdict

FILE = "expected.toml"
NOT_HANDED_IN = "not_handed_in"
"""The cause of a part that has no file."""
MOST_UNFAIR = 0.10
"""By how much of a part the points may differ from those of a fair person."""

Text = Annotated[str, Meta(description="a string")]
Tests = Annotated[tuple[str, ...], Meta(description="a list of test names")]


class Label(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of `expected.toml` in a submission."""

    about: Text
    part: Text
    verdict: Annotated[str, Meta(description="a verdict")]
    cause: Text = ""
    """The key of a finding of a failed test, or of a note."""
    facts: Annotated[dict[str, Any], Meta(description="a table of facts")] = {}
    """Facts that this finding must have; it may have others."""
    points: Annotated[str | float, Meta(description="all, some, or a number")] | None = None
    """`all`, `some` or a number; may be left out where there is a fair share."""
    subject: Tests | None = None
    """The tests about this bug: no other may lose points. None when the label does not say."""
    fair_share: Annotated[float, Meta(ge=0, le=1, description="a share from 0 to 1")] | None = None
    """The share of the part's points that a fair person who has read the handout gives for it."""
    deterministic: Annotated[bool, Meta(description="true or false")] = False
    """The failure is the same each time, also on a busy machine."""
    slow: Annotated[bool, Meta(description="true or false")] = False
    """Takes long to grade."""
    failing_tests: Tests | None = None
    """The only tests that may fail; None when the label does not say."""


def read_label(folder: Path) -> Label:
    """Read the label of a submission. Raises GraderError with all its mistakes."""
    return strict_toml.read(folder / FILE, Label, lambda data: _cross_check(data, folder))


def labelled(submissions: Path, assignment: str) -> list[Path]:
    """Return the folders of the labelled submissions of an assignment, `<verdict>/<it>/<bug>`."""
    return sorted(folder for folder in submissions.glob(f"*/{assignment}/*") if folder.is_dir())


def disagreements(label: Label, result: PartResult) -> Iterator[str]:
    """Yield a sentence for each difference between a graded part and its label."""
    failing = [t for t in result.tests if t.verdict not in (Verdict.ACCEPTED, Verdict.SKIPPED)]
    if result.verdict.value != label.verdict:
        yield f"expected {label.verdict}, found {result.verdict.value}: {result.message}"
    found = [*result.notes, *(each for test in failing for each in test.findings)]
    if not result.tests and result.verdict is Verdict.NOT_ATTEMPTED:
        found = [Finding(NOT_HANDED_IN, result.message)]
    if label.cause and not any(_is_so(label, each) for each in found):
        told = ", ".join(sorted({f"{each.key} {dict(each.facts)}" for each in found})) or "none"
        facts = f" and the facts {label.facts}" if label.facts else ""
        yield f"no finding has the key {label.cause}{facts}; found {told}"
    if not _pays(label.points, result):
        noun = "point" if label.points == 1 else "points"
        yield f"expected {label.points} {noun}, found {_paid(result)}"
    lost = {test.name for test in result.tests if test.points < test.max_points}
    if label.subject is not None and not lost <= set(label.subject):
        others = ", ".join(sorted(lost - set(label.subject)))
        yield f"points are lost in tests that the label's `subject` does not list: {others}"
    if label.fair_share is not None and result.max_points:
        share = result.points / result.max_points
        if round(abs(share - label.fair_share), 9) > MOST_UNFAIR:
            yield f"found {_paid(result)} points, but fair_share is {label.fair_share:.0%}"
    names = {test.name for test in failing}
    if label.failing_tests is not None and names != set(label.failing_tests):
        yield (
            f"tests expected to fail: {', '.join(sorted(label.failing_tests)) or 'none'}; "
            f"tests that failed: {', '.join(sorted(names)) or 'none'}"
        )


def _is_so(label: Label, found: Finding) -> bool:
    """Return whether a finding has the key and the facts that a label names."""
    return found.key == label.cause and all(
        name in found.facts and _plain(found.facts[name]) == _plain(value)
        for name, value in label.facts.items()
    )


def _plain(value: Any) -> Any:
    """Return a fact as it can be compared: TOML has lists, and decimals for floats."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return float(value) if isinstance(value, Decimal) else value


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
    """Yield contradictions between the values of a label, or with its folder."""
    verdict, lies_in = data.get("verdict"), folder.parent.parent.name
    if verdict is not None and verdict not in [each.value for each in Verdict]:
        known = ", ".join(each.value for each in Verdict)
        yield f"verdict: found {found_text(verdict)}; expected one of {known}"
    elif verdict is not None and verdict != lies_in.upper():
        yield (
            f"verdict: found {verdict}; expected {lies_in.upper()}, because the submission is in "
            f"the folder {lies_in}"
        )
    if isinstance(data.get("points"), str) and data["points"] not in ("all", "some"):
        yield f"points: found {found_text(data['points'])}; expected all, some, or a number"
    if "points" not in data and "fair_share" not in data:
        yield "points: missing; expected points or fair_share"
    if not data.get("cause") and verdict != Verdict.ACCEPTED.value:
        yield "cause: missing; expected the key of a finding, because every failure needs a cause"
    if data.get("facts") and not data.get("cause"):
        yield "facts: found without a cause; add the cause, or leave the facts out"
