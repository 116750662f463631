"""Puts cases to ranks so that a case that ends its run costs no other: the rest goes on afresh."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

from grader.grading_plugin.case import Case, is_yardstick
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.evidence import FEWEST_RANKS
from grader.model.finding import Finding, found
from grader.model.plural import counted
from grader.model.report import Attempt, Outcome, RunFailure, Verdict
from grader.recording.launch_plan import CaseCall
from grader.trace.calls import Call, Trace
from grader.trace.functions import COLLECTIVES


@dataclass
class PartTime:
    """The time of one part, by the clock."""

    limit_s: float
    used_s: dict[str, float] = field(default_factory=dict)
    """By the test that asked for the ranks first, in words."""
    starved_s: float = 0.0
    """Of launches that the machine gave too little: nothing that the submission did."""

    @property
    def left_s(self) -> float:
        """Return what further launches may take."""
        return self.limit_s - sum(self.used_s.values()) - self.starved_s

    def charge(self, launched: LaunchResult, test: str) -> None:
        """Count a launch that a test has asked for."""
        failure, wall_time_s = launched.failure, launched.wall_time_s
        if failure is not None and failure.verdict is Verdict.JUDGE_ERROR:
            self.starved_s += wall_time_s
        else:
            self.used_s[test] = self.used_s.get(test, 0.0) + wall_time_s

    def out_of_time(self) -> RunFailure | None:
        """Return what becomes of further cases, where no time is left for them."""
        if self.left_s > 0:
            return None
        if sum(self.used_s.values()) < self.starved_s:
            return RunFailure.of(
                Verdict.JUDGE_ERROR,
                found(
                    "grader.busy_machine",
                    f"the machine was so busy that failed runs took {self.starved_s:.0f} of "
                    f"the {self.limit_s:g} s that a part may take",
                    help="grade again when the machine is idle",
                ),
            )
        test = max(self.used_s, key=lambda each: self.used_s[each])
        return RunFailure.of(
            Verdict.TIME_LIMIT_EXCEEDED,
            found(
                "limit.time_of_part",
                f"the checks before this one used up the {self.limit_s:g} s of this part; "
                f"the slowest took {self.used_s[test]:.0f} s: {test}",
            ),
        )


def told_as_begun(
    launched: LaunchResult, own: Mapping[str, bytes], template: Path | None
) -> LaunchResult:
    """Return a launch that ended at a TODO as a crash, where lines of the student's own had called.

    A crash ends one case, and what nobody has begun ends the part. own: by path, what the student
    handed in. template: what students start from, whose calls do not count.
    """
    failure, attempt = launched.failure, launched.unfinished
    if failure is None or attempt is None or failure.verdict is not Verdict.NOT_ATTEMPTED:
        return launched
    if not _has_begun(attempt.trace, own, _lines_of(template)):
        return launched
    failure = as_crash(failure)
    return replace(launched, failure=failure, unfinished=replace(attempt, failure=failure))


def as_crash(failure: RunFailure) -> RunFailure:
    """Return an end at a TODO as a crash, which ends one case only."""
    found = at_a_todo(failure.findings)
    return replace(failure, verdict=Verdict.RUN_TIME_ERROR, findings=found, is_lasting=False)


def at_a_todo(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what was found of code that nobody has begun, as of code that was."""
    return tuple(
        Finding("crash.todo_left", each.text, each.facts) if each.key == "not_attempted" else each
        for each in findings
    )


def _lines_of(template: Path | None) -> frozenset[bytes]:
    files = sorted(template.rglob("*.py")) if template is not None else []
    return frozenset(line.strip() for file in files for line in file.read_bytes().splitlines())


def _has_begun(trace: Trace, own: Mapping[str, bytes], given: frozenset[bytes]) -> bool:
    by_name: dict[str, list[list[bytes]]] = {}
    for path, source in own.items():
        by_name.setdefault(_name(path), []).append(source.splitlines())

    def is_own(call: Call) -> bool:
        files = by_name.get(_name(call.file), [])
        lines = (file[call.line - 1] for file in files if 0 < call.line <= len(file))
        return any(line.strip() not in given for line in lines)

    return any(
        is_own(call)
        for rank in trace.ranks
        for call in rank.calls
        if call.is_send or call.is_receive or call.function in COLLECTIVES
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


MOST_FRESH_LAUNCHES = 3
"""Of one `run`: after that many crashes, hangs or limits its remaining cases are not run."""
MOST_FRESH_LAUNCHES_OF_PART = 12
FAILED_TIME_S = 60.0
"""What launches of a part that end in a failure may take before none is followed by a fresh one."""
FAILED_CASES = 6
"""Or so many times what a case may take, where that is more: half of them would be too few."""


@dataclass(frozen=True)
class NotRun:
    """A case was never put to ranks."""

    why: str


Answer = Outcome | RunFailure | NotRun
"""Of one case: what came back, or why nothing did."""


@dataclass
class LaunchBudget:
    """What failures of one part may still cost; right code never touches it."""

    fresh_launches: int = MOST_FRESH_LAUNCHES_OF_PART
    failed_time_s: float = FAILED_TIME_S
    """What is left of it."""
    most_failed_time_s: float = FAILED_TIME_S
    has_answered: bool = False
    """A case of the part that calls the submission has had an answer."""
    first_failures: tuple[tuple[int, RunFailure], ...] = ()
    """What launches ended with before the part had any answer, each with its number of ranks."""
    ended: RunFailure | None = None
    """Why every further case of the part would end the same way."""

    @classmethod
    def of(cls, case_s: float) -> "LaunchBudget":
        """Return the budget of a part of which a case may take so long."""
        failed_time_s = max(FAILED_TIME_S, FAILED_CASES * case_s)
        return cls(failed_time_s=failed_time_s, most_failed_time_s=failed_time_s)

    def charge(
        self, failure: RunFailure, ranks: int, wall_time_s: float, *, has_answers: bool
    ) -> None:
        """Count a launch that has ended with a failure; one that lasts ends the part.

        That the machine gave a run too little is nothing that the submission did.
        """
        self.has_answered = self.has_answered or has_answers
        if failure.verdict is Verdict.JUDGE_ERROR:
            return
        self.failed_time_s -= wall_time_s
        if self.has_answered:
            return
        self.first_failures += ((ranks, failure),)
        if failure.is_lasting:
            self.ended = self.ended or failure

    def fails_alike(self, failure: RunFailure) -> bool:
        """Return whether two numbers of ranks have failed in this way, before any answer.

        One of them is two or less: code that knows no more than two ranks is right there.
        """
        alike = {ranks for ranks, other in self.first_failures if other.is_like(failure)}
        return not self.has_answered and len(alike) > 1 and min(alike) <= FEWEST_RANKS

    def is_over_for(self, ranks: int) -> bool:
        """Return whether no case on so many ranks is worth a launch.

        Where runs with messages have failed alike, one rank alone may be right.
        """
        if self.ended is None:
            return False
        is_alone = ranks < FEWEST_RANKS and not self.ended.is_lasting
        return not is_alone or any(each == ranks for each, _ in self.first_failures)

    @property
    def allows_another(self) -> bool:
        """Return whether the cases left over by a failure may go on in a fresh launch."""
        return self.fresh_launches > 0 and self.failed_time_s > 0 and self.ended is None

    @property
    def why_ended(self) -> str:
        """Return why cases without an answer have none, where every other would end as one has."""
        return "the part had already ended" if self.ended else ""

    @property
    def is_spent(self) -> bool:
        """Return whether not even a launch that no failure has touched is worth its time."""
        return self.failed_time_s <= -self.most_failed_time_s


class Answers(Sequence[Answer]):
    """What became of the cases of one `run`, in their order.

    Where no case fails there is one launch. After a crash, a hang or a limit the cases that are
    left go on in a fresh one as soon as a test asks for one of them. The other cases of the failed
    one's subject are not run: they are expected to fail, too. The part ends when, before any
    answer, two numbers of ranks have failed in the same way, and a case of another subject
    has as well if there is one. Cases with a fault injected may end their run by it, which costs
    the part nothing. Yardsticks have a launch of their own, right after the first of timed cases,
    or before it where a test asks for them first.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        calls: Sequence[CaseCall],
        ranks: int,
        start: Callable[[Sequence[CaseCall]], LaunchResult],
        budget: LaunchBudget,
        out_of_time: Callable[[], RunFailure | None],
        start_yardsticks: Callable[[Sequence[CaseCall]], LaunchResult],
    ) -> None:
        """start, start_yardsticks: put calls to ranks; out_of_time: says when no more may be."""
        self._cases = cases
        self._calls = calls
        self._ranks = ranks
        self._start = start
        self._budget = budget
        self._out_of_time = out_of_time
        self._injects_faults = any(case.message_fault is not None for case in cases)
        self._fresh_launches = MOST_FRESH_LAUNCHES
        self._is_starved = False
        """The last launch was given too little by the machine, which costs no budget."""
        self._answers: dict[int, Outcome | RunFailure] = {}
        self.unfinished: dict[int, Attempt] = {}
        """What the ranks did in cases without an outcome, by index."""
        self._start_yardsticks = start_yardsticks
        self._yardsticks = [i for i, case in enumerate(cases) if is_yardstick(case)]
        self._left = [i for i in range(len(cases)) if i not in self._yardsticks]
        self._known: set[int] = set()
        """Cases about the subject of one that has failed."""
        self._launch()

    def __len__(self) -> int:
        return len(self._cases)

    @overload
    def __getitem__(self, index: int) -> Answer: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Answer]: ...

    def __getitem__(self, index: int | slice) -> Answer | Sequence[Answer]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        while index in self._left and self._may_go_on():
            if late := self._out_of_time():
                # Of an altered message it would say that it matters.
                return NotRun(late.message) if self._injects_faults else late
            self._count_fresh_launch()
            self._launch()
        if index in self._yardsticks and index not in self._answers:
            self._measure_yardsticks()
        if index in self._answers:
            return self._answers[index]
        if index in self._known:
            return NotRun("same cause as above")
        return NotRun(self._budget.why_ended or "too many earlier cases failed")

    def _may_go_on(self) -> bool:
        allows = self._injects_faults or self._budget.allows_another
        return allows and self._fresh_launches > 0

    def _count_fresh_launch(self) -> None:
        if self._is_starved:
            return
        self._fresh_launches -= 1
        if not self._injects_faults:
            self._budget.fresh_launches -= 1

    def _launch(self) -> None:
        """Put the cases that are left to ranks; find out whether any other is worth it."""
        failure = self._put_to_ranks()
        has_timed = any(self._cases[index].is_timed for index in self._answers)
        if self._yardsticks and self._yardsticks[0] not in self._answers and has_timed:
            self._measure_yardsticks()
        if failure is None or self._injects_faults or not self._budget.fails_alike(failure):
            return
        if self._left:
            if not self._may_go_on() or self._out_of_time():
                return
            self._count_fresh_launch()
            other = self._put_to_ranks()
            if other is None or not other.is_like(failure):
                return
        if self._budget.fails_alike(failure):
            self._budget.ended = failure

    def _measure_yardsticks(self) -> None:
        """Put the yardsticks to ranks of their own, whose failures are never the submission's."""
        late = self._out_of_time()
        calls = [self._calls[index] for index in self._yardsticks]
        measured = () if late else self._start_yardsticks(calls).outcomes
        lost = RunFailure(Verdict.JUDGE_ERROR, "the reference call could not be timed; grade again")
        for place, index in enumerate(self._yardsticks):
            found = measured[place] if place < len(measured) else lost
            self._answers[index] = late or (found if isinstance(found, Outcome) else lost)

    def _put_to_ranks(self) -> RunFailure | None:
        """Put the cases that are left to ranks, up to the first that ends its run; return why."""
        asked = self._left
        launched = self._start([self._calls[index] for index in asked])
        self._left = []
        self._is_starved = (
            launched.failure is not None and launched.failure.verdict is Verdict.JUDGE_ERROR
        )
        if launched.is_out_of_time:
            self._left = asked[len(launched.outcomes) :]
        has_answers = bool(launched.outcomes)
        self.unfinished |= {asked[place]: each for place, each in launched.refused.items()}
        for index, outcome in zip(asked, launched.outcomes, strict=False):
            if isinstance(outcome, RunFailure):
                outcome = naming(outcome, self._cases[index], self._ranks)
            self._answers[index] = outcome
        budget = self._budget
        if launched.failure is None:
            budget.has_answered = budget.has_answered or has_answers
            return None
        num_answered = len(launched.outcomes)
        failed = asked[num_answered]
        if not self._injects_faults:
            time_s = launched.wall_time_s
            budget.charge(launched.failure, self._ranks, time_s, has_answers=has_answers)
        told = _told(launched.failure, budget)
        self._answers[failed] = naming(told, self._cases[failed], self._ranks)
        if launched.unfinished is not None:
            self.unfinished[failed] = launched.unfinished
        if self._cases[failed].subject and not self._is_starved and not self._injects_faults:
            about = {i for i in asked if self._cases[i].subject == self._cases[failed].subject}
            self._known |= about
        self._left = [index for index in asked[num_answered + 1 :] if index not in self._known]
        return launched.failure


def _told(failure: RunFailure, budget: LaunchBudget) -> RunFailure:
    """Return the failure; where others came to more, what is not written yet is an error."""
    if failure.verdict is Verdict.NOT_ATTEMPTED and budget.ended is not failure:
        return as_crash(failure)
    return failure


def naming(failure: RunFailure, case: Case, ranks: int) -> RunFailure:
    """Return the failure with number of ranks and case before its message, where these matter."""
    if failure.evidence is not None:
        seen = replace(failure.evidence, case=f"{counted(ranks, 'rank')}, {case.label}")
        failure = replace(failure, evidence=seen)
    if failure.is_lasting:
        return failure
    about = f"{counted(ranks, 'rank')}, {case.label}"
    return replace(failure, case=about, message=f"{about}: {failure.message}")
