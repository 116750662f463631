"""What a class as a whole shows: which tests hold, what went wrong how often, and for whom."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.classroom.standing import Standing
from grader.model import PartResult, Report, TestResult, Verdict

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
"""Not of a name such as mpi4py."""
_PLACE = re.compile(r"\b[\w./-]+\.py:\d+")


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
    signature: str
    """The message without what differs from one to the next; of a hang, who waits in what."""
    example: str
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

    reports: with the pseudonym of whom. A part counts once, by what decided its verdict.
    """
    groups: dict[tuple[str, Verdict, str], list[tuple[str, str]]] = defaultdict(list)
    for student, report in reports:
        for part in report.parts:
            test = _decisive(part)
            if test is not None:
                key = (part.name, part.verdict, signature(test))
                groups[key].append((student, test.message))
    found = [
        Cause(part, verdict, words, cases[0][1], tuple(student for student, _ in cases))
        for (part, verdict, words), cases in groups.items()
    ]
    return sorted(found, key=lambda cause: (-len(cause.students), cause.part, cause.signature))


def signature(test: TestResult) -> str:
    """Return what is the same of a failure in whoever makes the same mistake."""
    deadlock = test.evidence.deadlock if test.evidence is not None else None
    if deadlock is not None and test.verdict is Verdict.DEADLOCK:
        calls = sorted({waiting.call for waiting in deadlock.waiting})
        how = "in a cycle" if deadlock.cycle else "for ranks that have returned"
        return f"all wait in {', '.join(calls)} {how}"
    # After the case, which comes first: it is the same mistake on 3 ranks and on 4.
    said = test.message.partition(": ")[2] or test.message
    return _NUMBER.sub("#", _PLACE.sub("...", said))[:200]


def _decisive(part: PartResult) -> TestResult | None:
    """Return the first test with the verdict of its part; None where nothing went wrong."""
    if part.verdict in (Verdict.ACCEPTED, Verdict.NOT_ATTEMPTED, Verdict.SKIPPED):
        return None
    return next((test for test in part.tests if test.verdict is part.verdict), None)


def histogram(scores: Sequence[float], max_score: float, num_bins: int = 10) -> list[int]:
    """Return how many scores lie in each tenth of what can be reached; the full score in the last.

    max_score: more than 0.
    """
    counts = [0] * num_bins
    for score in scores:
        counts[min(num_bins - 1, int(score / max_score * num_bins))] += 1
    return counts
