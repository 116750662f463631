"""The stages of a part: which of them could still pay, and which hold."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from grader.grading_plugin.marks import points_of, sentence_of, stage_of
from grader.grading_plugin.results import Stage
from grader.model.points import total
from grader.model.report import TestResult, Verdict


class PartStages:
    """The stages of one part, most points first, and what became of those that were asked."""

    def __init__(self, tests: Mapping[str, Sequence[pytest.Item]]) -> None:
        """tests: all others of the part that are graded here."""
        self._tests = tests
        self.items: dict[str, list[pytest.Item]] = {}
        self.results: dict[str, TestResult] = {}

    def could_pay(self, item: pytest.Item, of_tests: Iterable[TestResult]) -> bool:
        """Return whether a stage that holds would pay more than all before it."""
        results = (*of_tests, *self.results.values())
        if any(result.verdict is Verdict.JUDGE_ERROR for result in results):
            return False
        held = (each.points for each in self.held())
        earned = total(result.points for result in results)
        return self._worth(item) > max(earned, *held, 0)

    def held(self) -> list[Stage]:
        """Return the stages that hold."""
        return [
            Stage(self._worth(items[0]), sentence_of(items[0]).rstrip("."))
            for name, items in self.items.items()
            if name in self.results and self.results[name].verdict is Verdict.ACCEPTED
        ]

    @property
    def lost(self) -> list[TestResult]:
        """Return the stages on which the grader failed."""
        return [each for each in self.results.values() if each.verdict is Verdict.JUDGE_ERROR]

    def _worth(self, item: pytest.Item) -> float:
        """Return the points of a stage: those of all tests at most."""
        graded = (points_of(items[0]).args[0] for items in self._tests.values())
        return min(stage_of(item) or 0, total(map(float, graded)))
