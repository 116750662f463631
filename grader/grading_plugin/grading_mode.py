"""The suite in the judge: `run` starts mpirun, and each test's exception becomes a verdict."""

import hashlib
from collections import Counter
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from grader.grading_plugin.case_evidence import EvidenceCollector
from grader.grading_plugin.launch_results import (
    CaseNotRun,
    Launch,
    RunFailed,
    make_launch,
    never_run,
)
from grader.grading_plugin.marks import (
    TestNotAskedFor,
    TestNotRun,
    function_of,
    not_run,
    own_part_of,
    stage_of,
    suite_of,
    words,
)
from grader.grading_plugin.part_context import PartContext, Position
from grader.grading_plugin.plan import plan_of, with_submission, without_submission
from grader.grading_plugin.plugin_base import Asked, SuiteMode
from grader.grading_plugin.relaunch import (
    Answers,
    LaunchBudget,
    PartTime,
    at_a_todo,
    told_as_begun,
)
from grader.grading_plugin.results import failed, leaving_the_judge, paid, result_of
from grader.grading_plugin.stages import PartStages
from grader.judge.explanation.crash_messages import MAX_REMARKS
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GradingLost
from grader.model.finding import Finding
from grader.model.plural import counted
from grader.model.report import RunFailure, TestResult, Verdict
from grader.recording.journal import Failing, Finished, Step
from grader.recording.launch_plan import MOST_TRACE_NUM_BYTES, LaunchAllowance, LaunchPlan


class JudgeMode(SuiteMode):
    """The pytest plugin of one grading; read `results()` after the session."""

    def __init__(self, context: PartContext) -> None:
        super().__init__()
        self._context = context
        self._settings = context.settings
        self._budgets = {"": LaunchBudget.of(context.limits.case_s)}
        """By what is called: see Case.call."""
        self._budget = self._budgets[""]
        self._trace_num_bytes_left = MOST_TRACE_NUM_BYTES
        self._time = PartTime(context.limits.part_s)
        self._tests: dict[str, list[pytest.Item]] = {}
        self._stages = PartStages(self._tests)
        self._failed: dict[str, TestResult] = {}
        self._passed: dict[str, int] = {}
        self._rootless: set[str] = set()
        """Tests that were not run for failures of others, perhaps later ones."""
        self._known: set[str] = set()
        """Tests that are not run, because it is known what became of them."""
        self._ended: set[str] = set()
        self._evidence = EvidenceCollector(context.own_sources, is_kept=not context.is_hidden)
        self._has_told_failing = False
        self.on_case = self._evidence.looks_at
        self.num_launches = 0
        self._starts = Counter[str]()
        """How often ranks were started here for each launch, by its name in the journal."""
        self._starts_before = Counter[str]()
        """And in the judges before this one."""
        self.lost: GradingLost | None = None
        """Why no other run can be started here."""
        self.refusals: dict[str, None] = {}
        """What the guard refused to ranks that went on, in sentences."""
        self.remarks: dict[str, Finding] = {}
        """By sentence: what is said of lines of the submission and costs nothing."""

    def launch(self, item: pytest.Item, asked: Asked) -> Launch:
        """Put the cases to ranks; after a failure in fresh launches. Raises GraderError."""
        context, ranks, cases = self._context, asked.ranks, asked.cases
        if self._settings.selection.ranks not in (None, ranks):
            self._left_out.add(function_of(item))
            why = f"--ranks selects {counted(self._settings.selection.ranks, 'rank')} only"
            return never_run(cases, ranks, why)
        budget = self._budget_for(item, asked)
        is_over = budget.is_over_for(ranks) if stage_of(item) is None else bool(budget.ended)
        if is_over:
            return never_run(cases, ranks, budget.why_ended)
        if budget.is_spent:
            return never_run(cases, ranks, "failed runs used up the part's time")
        if late := self._time.out_of_time():
            return make_launch(cases, [late] * len(cases), ranks)
        plan = plan_of(context, asked)
        answers = Answers(
            cases,
            plan.cases,
            ranks,
            lambda remaining: self._start(with_submission(plan, remaining), item, asked),
            budget,
            self._time.out_of_time,
            lambda calls: self._put_to_ranks(without_submission(plan, calls), item),
        )
        return make_launch(cases, answers, ranks, answers.unfinished)

    def _budget_for(self, item: pytest.Item, asked: Asked) -> LaunchBudget:
        """Return what a launch may cost.

        After the part has ended a stage looks at launches that there are. A judge that follows a
        killed one repeats those, each with as many starts as it had.
        """
        own_limits_s = [case.time_limit_s for case in asked.cases]
        case_s = max([self._context.limits.case_s, *own_limits_s])
        budget = self._budgets.setdefault(asked.cases[0].call, LaunchBudget.of(case_s))
        num_starts = self._starts_before[_journal_name(asked)]
        if stage_of(item) is None or budget.ended is None or not num_starts:
            return budget
        again = LaunchBudget.of(case_s)
        return replace(again, fresh_launches=num_starts - 1, has_answered=True)

    def _put_to_ranks(self, plan: LaunchPlan, item: pytest.Item) -> LaunchResult:
        num_ended = len(self._ended & self._tests.keys())
        self._settings.on_position(Position(num_ended, len(self._tests), plan.ranks))
        allowance = LaunchAllowance(self._time.left_s, self._trace_num_bytes_left)
        launched = self._context.launch(replace(plan, allowance=allowance))
        self._time.charge(launched, words(function_of(item)))
        left = self._trace_num_bytes_left - launched.trace_num_bytes
        self._trace_num_bytes_left = max(0, left)
        self.num_launches += 1
        return launched

    def _start(self, plan: LaunchPlan, item: pytest.Item, asked: Asked) -> LaunchResult:
        context = self._context
        launched = self._put_to_ranks(plan, item)
        launched = told_as_begun(launched, context.own_sources, context.template)
        if launched.failure is None or launched.failure.verdict is not Verdict.JUDGE_ERROR:
            self._starts[_journal_name(asked)] += 1
        # What a refusal has ended is told by its failure.
        if launched.failure is None or launched.failure.verdict is not Verdict.RULE_VIOLATION:
            self.refusals.update(dict.fromkeys(launched.refusals))
        self._tell_failing(item, plan, launched)
        room = MAX_REMARKS - len(self.remarks)
        self.remarks |= {each.text: each for each in launched.remarks[:room]}
        return launched

    def _tell_failing(self, item: pytest.Item, plan: LaunchPlan, launched: LaunchResult) -> None:
        """Say of the first ranks that fail, where a test may go on for long before it ends."""
        failure = launched.failure
        is_meant = any(case.message_fault is not None for case in plan.cases)
        if failure is None or is_meant or self._failed or self._context.is_hidden:
            return
        if self._has_told_failing or failure.verdict is Verdict.JUDGE_ERROR:
            return
        self._has_told_failing = True
        result = self._told(failed(item, RunFailed(failure), "call"))
        self._settings.journal.failing(Failing(self._step(item), result))

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what nobody asked for, and what only the course can judge; put stages last."""
        here = [item for item in items if function_of(item) not in self._context.left_out]
        stages = sorted(
            (item for item in here if stage_of(item) is not None),
            key=lambda item: -(stage_of(item) or 0),
        )
        tests = [item for item in here if item not in stages]
        kept = self._settings.selection.of(tests)
        left_out = [item for item in items if item not in kept and item not in stages]
        items[:] = [*kept, *stages] if self._settings.selection.is_mark else kept
        self._left_out = {function_of(item) for item in left_out} - set(map(function_of, items))
        config.hook.pytest_deselected(items=left_out)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which tests there are, in the order of the file."""
        super().pytest_collection_finish(session)
        for item in session.items:
            each = self._tests if stage_of(item) is None else self._stages.items
            each.setdefault(function_of(item), []).append(item)
        self._resume()

    def _resume(self) -> None:
        """Take over what became of tests in a container that was killed."""
        first = {name: items[0] for name, items in (self._tests | self._stages.items).items()}
        for kept in self._settings.journal.kept({self._step(item) for item in first.values()}):
            self._take_over(kept)
        for name, items in self._tests.items():
            why = self._settings.journal.why_lost(self._step(items[0]))
            if why and name not in self._known:
                self._known.add(name)
                self._failed_because_of[name] = name
                self._failed[name] = self._told(result_of(items[0], Verdict.JUDGE_ERROR, why))

    def _take_over(self, kept: Finished) -> None:
        name = kept.step.test
        self._known.add(name)
        if name in self._stages.items:
            self._stages.results[name] = kept.result
        elif kept.result.verdict is Verdict.ACCEPTED:
            self._passed[name] = len(self._tests[name])
        else:
            self._failed[name] = kept.result
            self._failed_because_of[name] = kept.root
            if kept.result.verdict is Verdict.SKIPPED and not kept.result.blocked_by:
                self._rootless.add(name)
        self._budget.ended, self.num_launches = kept.ended, kept.num_launches
        # With an answer, what is not written for one case does not end the part.
        self._budget.has_answered |= (
            kept.result.verdict is Verdict.ACCEPTED and kept.num_launches > 0
        )
        self.refusals.update(dict.fromkeys(kept.refusals))
        self._starts_before |= Counter(dict(kept.starts))

    def _step(self, item: pytest.Item) -> Step:
        replaced = self._context.own_part_replaced or ""
        return Step(self._context.part, suite_of(item), replaced, function_of(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Leave out what is known; say what is in progress."""
        name = function_of(item)
        if name in self._known or name in self._ended:
            return True
        is_stage = name in self._stages.items
        if is_stage and not self._stages.could_pay(item, map(self._result, self._tests)):
            return True
        if is_stage and (why := self._settings.journal.why_lost(self._step(item))):
            self._stages.results[name] = self._told(result_of(item, Verdict.JUDGE_ERROR, why))
            return True
        if item is (self._stages.items if is_stage else self._tests)[name][0]:
            self._settings.journal.started(self._step(item))
        return None

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what needs the student's own version of a part that is replaced here."""
        super().pytest_runtest_setup(item)
        replaced = self._context.own_part_replaced
        if replaced is not None and own_part_of(item) == replaced:
            raise TestNotAskedFor(f"it needs your own {replaced}")
        if self._context.has_ended:
            not_run("the part had already ended")
        if self._settings.selection.fail_fast and any(map(_is_failure, self._failed.values())):
            raise TestNotAskedFor("it comes after the first check that failed")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, Any]:
        """Turn what a test raised into a verdict."""
        report = yield from super().pytest_runtest_makereport(item, call)
        name = function_of(item)
        if call.excinfo is not None and isinstance(call.excinfo.value, GradingLost):
            # What this test would have come to is not known: another grading takes it up.
            self.lost = call.excinfo.value
            item.session.shouldstop = str(self.lost)
        if self.lost is not None:
            return report
        if name in self._stages.items:
            self._end_stage(item, call)
            return report
        if call.excinfo is not None:
            error = self._told_error(item, call.excinfo.value)
            result = failed(item, error, call.when)
            if self._lacks_roots(result, error):
                self._rootless.add(name)
            self._keep(name, self._evidence.with_failure(result, error))
        elif call.when == "call" and call.excinfo is None:
            self._passed[name] = self._passed.get(name, 0) + 1
        # One parameter that fails decides: the others have nothing to add.
        decided = item is self._tests[name][-1] or _is_failure(self._failed.get(name))
        if call.when == "call":
            self._evidence.end_parameter(name)
        if call.when == "teardown" and decided:
            self._ended.add(name)
            self._settings.journal.finished(self._finished(item, self._result(name)))
        return report

    def _end_stage(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Keep what became of a stage: it holds with all its parameters.

        One that has seen nothing of what the ranks did holds for nothing.
        """
        name, results = function_of(item), self._stages.results
        error = call.excinfo.value if call.excinfo is not None else None
        if call.when == "call" and error is None and item.nodeid not in self._seen_attempts:
            error = CaseNotRun("none of its cases ran")
        if error is not None:
            results.setdefault(name, self._told(failed(item, error, call.when)))
        if call.when == "teardown" and (name in results or item is self._stages.items[name][-1]):
            held = self._told(result_of(item, Verdict.ACCEPTED))
            self._ended.add(name)
            result = results.setdefault(name, held)
            self._settings.journal.finished(self._finished(item, result))

    def _lacks_roots(self, result: TestResult, error: BaseException) -> bool:
        """Return whether a test was not run for failures, and says not of which tests."""
        is_for_failures = getattr(error, "is_for_failures", isinstance(error, CaseNotRun))
        is_told = result.blocked_by or result.name in self._left_out
        return result.verdict is Verdict.SKIPPED and is_for_failures and not is_told

    def _told_error(self, item: pytest.Item, error: BaseException) -> BaseException:
        """Return what a test raised, or what ended the part, where no test has said so yet.

        What is not run for want of answers that nobody asked ranks for tells why nobody did.
        """
        if isinstance(error, TestNotRun) and item.nodeid in self._never_run:
            error = CaseNotRun(self._never_run[item.nodeid])
        ended = self._budget.ended
        if ended is None or not isinstance(error, CaseNotRun):
            return error
        is_told = any(result.verdict is ended.verdict for result in self._failed.values())
        return error if is_told else RunFailed(ended)

    def _keep(self, name: str, result: TestResult) -> None:
        """Keep the first failure of a test; one that has happened before one that was not run."""
        if name not in self._failed or (
            _is_failure(result) and not _is_failure(self._failed[name])
        ):
            self._failed[name] = self._told(result)

    def _finished(self, item: pytest.Item, result: TestResult) -> Finished:
        ended = self._budget.ended
        if ended is not None and self._context.is_hidden:
            ended = RunFailure(ended.verdict, "")
        return Finished(
            self._step(item),
            result,
            root=self._failed_because_of.get(function_of(item), ""),
            ended=ended,
            num_launches=self.num_launches,
            refusals=() if self._context.is_hidden else tuple(self.refusals),
            # A launch that was repeated counts once.
            starts=tuple((self._starts_before | self._starts).items()),
        )

    def _told(self, result: TestResult) -> TestResult:
        return leaving_the_judge(result, self._context)

    @property
    def has_ended(self) -> bool:
        """Return whether a run has shown that the part's further runs are not worth starting."""
        return self._budget.ended is not None

    def results(self) -> tuple[tuple[TestResult, ...], tuple[Finding, ...]]:
        """Return what each test function comes to with what a stage pays, and a note of that."""
        failures = tuple(name for name, each in self._failed.items() if _is_failure(each))
        found = tuple(
            replace(result, blocked_by=failures)
            if name in self._rootless and result.verdict is Verdict.SKIPPED
            else result
            for name in self._tests
            for result in [self._result(name)]
        )
        has_answers = any(budget.has_answered for budget in self._budgets.values())
        if has_answers and len(self._budgets) > 1:
            found = tuple(map(_as_error, found))
        return paid((*found, *self._stages.lost), self._stages.held())

    def _result(self, name: str) -> TestResult:
        if name in self._failed:
            return self._failed[name]
        item = self._tests[name][0]
        complete = self._passed.get(name, 0) == len(self._tests[name])
        if complete:
            return self._told(self._evidence.with_success(result_of(item, Verdict.ACCEPTED)))
        return self._told(
            result_of(
                item,
                Verdict.JUDGE_ERROR,
                "the grader failed: the check was not run with every parameter",
            )
        )


def _journal_name(asked: Asked) -> str:
    """Return what a launch is called in the journal, of which its cases cannot be read."""
    told = (asked.ranks, asked.standalone, asked.backend, asked.cases[0].call)
    labels = [case.label for case in asked.cases]
    return hashlib.sha256(repr((*told, labels)).encode()).hexdigest()[:16]


def _as_error(result: TestResult) -> TestResult:
    """Return the result; where other calls have answers, what is not written yet is an error."""
    if result.verdict is not Verdict.NOT_ATTEMPTED:
        return result
    return replace(result, verdict=Verdict.RUN_TIME_ERROR, findings=at_a_todo(result.findings))


def _is_failure(result: TestResult | None) -> bool:
    return result is not None and result.verdict is not Verdict.SKIPPED
