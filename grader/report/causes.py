"""What cost a part its points: each cause once, the costliest first, with all that it costs."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from grader.model.evidence import Evidence, SourceExcerpt
from grader.model.finding import Finding
from grader.model.points import total
from grader.model.report import PartResult, Report, TestResult, Verdict

_HELD = (Verdict.ACCEPTED, Verdict.SKIPPED)


@dataclass(frozen=True)
class Cause:
    """One reason, the tests that failed of it, and those that could not be run without them."""

    verdict: Verdict
    tests: tuple[TestResult, ...]
    """The costliest first; none where the part failed as a whole."""
    blocked: tuple[TestResult, ...] = ()
    message: str = ""
    """Where no test tells it."""
    part_points: float = 0
    """What the part lost beside all of its tests, where it failed as a whole."""

    @property
    def points(self) -> float:
        """Return the points at stake: those of the failed tests and of the blocked ones."""
        return total((self.part_points, lost(self.tests), lost(self.blocked)))

    @property
    def speaker(self) -> TestResult | None:
        """Return the test that speaks: the costliest with this cause, with lines to show if any."""
        costliest = next(iter(self.tests), None)
        seen = (
            each
            for each in self.tests
            if each.evidence
            and each.evidence.excerpts
            and _identity(each) == _identity(self.tests[0])
        )
        return next(seen, costliest)

    @property
    def evidence(self) -> Evidence | None:
        """Return what was seen of the case that is told, which one test of each message has."""
        told = self.speaker.message if self.speaker is not None else ""
        seen = (each.evidence for each in self.tests if each.message == told)
        return next(filter(None, seen), None)

    @property
    def excerpts(self) -> tuple[SourceExcerpt, ...]:
        """Return the student's lines that show it."""
        return self.evidence.excerpts if self.evidence is not None else ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was found, the first of which names the cause."""
        speaker = self.speaker
        if speaker is None:
            return (Finding("", self.message),)
        return speaker.findings or (Finding("", speaker.message or speaker.verdict.value),)

    @property
    def detail(self) -> str:
        """Return the traceback and what was printed."""
        speaker = (self.speaker,) if self.speaker is not None else ()
        return next((each.detail for each in (*speaker, *self.tests) if each.detail), "")


def causes(part: PartResult) -> list[Cause]:
    """Return why a part lost points, the costliest first; their points add up to what it lost."""
    by_identity: dict[Hashable, list[TestResult]] = {}
    for test in part.tests:
        if test.verdict not in _HELD and not _is_advice(part, test):
            by_identity.setdefault(_identity(test), []).append(test)
    found = [
        Cause(tests[0].verdict, tuple(sorted(tests, key=lambda x: lost([x]), reverse=True)))
        for tests in by_identity.values()
    ]
    is_told = any(test.message == part.message for test in part.tests)
    if part.message and not is_told and part.verdict is not Verdict.ACCEPTED:
        beside = total((part.max_points, -part.points, -lost(part.tests)))
        found.append(Cause(part.verdict, (), message=part.message, part_points=beside))
    found = _merged(sorted(found, key=_order, reverse=True))
    return sorted(_with_blocked(part, found), key=_order, reverse=True)


def _merged(found: Iterable[Cause]) -> list[Cause]:
    """Return the causes; one whose finding a dearer cause lists as well joins that cause."""
    kept: list[Cause] = []
    for cause in found:
        first = cause.findings[0]
        homes = (
            i
            for i, other in enumerate(kept)
            if other.verdict is cause.verdict
            and first.key
            and (first.key, first.facts) in [(each.key, each.facts) for each in other.findings[1:]]
        )
        home = next(homes, None)
        if home is None:
            kept.append(cause)
        else:
            kept[home] = replace(kept[home], tests=(*kept[home].tests, *cause.tests))
    return kept


def lost(tests: Iterable[TestResult]) -> float:
    """Return the points that these tests lost."""
    return total(n for each in tests for n in (each.max_points, -each.points))


def _is_advice(part: PartResult, test: TestResult) -> bool:
    """Return whether a test of no points, in a part of some, finds what is told as a note."""
    is_free = test.max_points == 0 < part.max_points
    is_free = is_free and not any(test.name in each.blocked_by for each in part.tests)
    return is_free and test.verdict not in (Verdict.JUDGE_ERROR, Verdict.NOT_PROVEN)


def costliest_first(report: Report) -> list[tuple[PartResult, Cause]]:
    """Return the causes of all parts, the costliest first."""
    found = [(part, cause) for part in report.parts for cause in causes(part)]
    return sorted(found, key=lambda each: _order(each[1]), reverse=True)


def is_all(part: PartResult, cause: Cause) -> bool:
    """Return whether this cause explains every test of the part."""
    return len(cause.tests) + len(cause.blocked) == len(part.tests)


def passed(part: PartResult) -> list[TestResult]:
    """Return the tests of a part that hold."""
    return [test for test in part.tests if test.verdict is Verdict.ACCEPTED]


def _identity(test: TestResult) -> Hashable:
    """Return what two tests have in common that failed of the same: cause, array, and lines."""
    first = next(iter(test.findings), None)
    if first is None or not first.key:
        return test.verdict, test.message
    return test.verdict, first.key, first.facts.get("name"), frozenset(first.places)


def _with_blocked(part: PartResult, found: Sequence[Cause]) -> list[Cause]:
    """Return the causes with the tests that were not run for them, a test with the costliest."""
    by_name = {test.name: test for test in part.tests}
    blocked: dict[int, list[TestResult]] = {}
    others: dict[str, list[TestResult]] = {}
    for test in part.tests:
        if test.verdict is Verdict.SKIPPED:
            roots = _failed_roots(test, by_name)
            own = (i for i, cause in enumerate(found) if roots & {t.name for t in cause.tests})
            home = next(own, None)
            if home is None:
                others.setdefault(test.message, []).append(test)
            else:
                blocked.setdefault(home, []).append(test)
    return [
        *(replace(cause, blocked=tuple(blocked.get(i, ()))) for i, cause in enumerate(found)),
        *(Cause(Verdict.SKIPPED, (), tuple(tests), why) for why, tests in others.items()),
    ]


def _failed_roots(test: TestResult, by_name: dict[str, TestResult]) -> set[str]:
    """Return the names of the failed tests that a test was not run for."""
    seen: set[str] = set()
    left = list(test.blocked_by)
    while left:
        name = left.pop()
        if name in by_name and name not in seen:
            seen.add(name)
            left += by_name[name].blocked_by
    return {name for name in seen if by_name[name].verdict not in _HELD}


def _order(cause: Cause) -> tuple[float, int]:
    return cause.points, cause.verdict.severity


def is_missing(part: PartResult) -> bool:
    """Return whether no file was handed in for the part."""
    return part.verdict is Verdict.NOT_ATTEMPTED and not part.tests
