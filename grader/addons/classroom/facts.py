"""What a class as a whole shows: which tests hold, what went wrong how often, and for whom."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.addons.classroom.standing import Standing
from grader.model.report import Report, TestResult, Verdict
from grader.report.causes import causes as causes_of

_NO_CAUSE = (Verdict.NOT_ATTEMPTED, Verdict.SKIPPED)


@dataclass(frozen=True)
class Rate:
    """How many hold one test."""

    part: str
    test: str
    sentence: str
    num_held: int
    num_run: int
    """Of those who attempted the part."""


@dataclass(frozen=True)
class Cause:
    """Hand-ins that fail for the same reason."""

    part: str
    verdict: Verdict
    text: str
    """As it was said to the first of them."""
    students: tuple[str, ...]
    """Pseudonyms."""


def reports_of(standings: Iterable[Standing]) -> list[tuple[Standing, Report]]:
    """Return the reports that count, with whose they are; that of a group once."""
    found: dict[tuple[str, str], tuple[Standing, Report]] = {}
    for each in standings:
        grading = each.counted.grading if each.counted else None
        if each.counted and grading and grading.report:
            found.setdefault(each.identity, (each, grading.report))
    return list(found.values())


def rates(reports: Sequence[Report]) -> list[Rate]:
    """Return how many hold each test, in the order of the reports."""
    runs: dict[tuple[str, str], list[TestResult]] = defaultdict(list)
    for report in reports:
        for part in report.parts:
            if part.verdict is not Verdict.NOT_ATTEMPTED:
                for test in part.tests:
                    runs[part.name, test.name].append(test)
    return [
        Rate(
            part,
            name,
            tests[0].sentence,
            sum(test.verdict is Verdict.ACCEPTED for test in tests),
            len(tests),
        )
        for (part, name), tests in runs.items()
    ]


def causes(reports: Sequence[tuple[str, Report]]) -> list[Cause]:
    """Return why parts lost points, what happened to most first.

    reports: with the pseudonym of whom. A part counts once, by the cause that costs it most.
    """
    groups: dict[tuple[str, Verdict, str], list[tuple[str, str]]] = defaultdict(list)
    for student, report in reports:
        for part in report.parts:
            dearest = next(iter(causes_of(part)), None)
            if dearest is not None and dearest.verdict not in _NO_CAUSE:
                first = dearest.findings[0]
                about = f"{first.key} {first.facts.get('name', '')}" if first.key else first.text
                groups[part.name, dearest.verdict, about].append((student, first.text))
    found = [
        Cause(part, verdict, cases[0][1], tuple(student for student, _ in cases))
        for (part, verdict, _), cases in groups.items()
    ]
    return sorted(found, key=lambda cause: (-len(cause.students), cause.part, cause.text))


def histogram(scores: Sequence[float], max_score: float, num_bins: int = 10) -> list[int]:
    """Return how many scores lie in each tenth of what can be reached; the full score in the last.

    max_score: more than 0.
    """
    counts = [0] * num_bins
    for score in scores:
        counts[min(num_bins - 1, int(score / max_score * num_bins))] += 1
    return counts
