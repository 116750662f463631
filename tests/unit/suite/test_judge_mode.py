"""A suite in the judge: which exception becomes which verdict, and what is paid."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest

from grader.errors import GraderError
from grader.model import Outcome, RunFailure, Verdict
from grader.runner.plan import Launched, Limits
from grader.suite.inputs import PUBLIC_SECRET, case_calls
from grader.suite.judge_mode import Grading
from grader.suite.session import grade_suite
from grader.trace.calls import Trace

HEAD = """
from dataclasses import dataclass
import numpy as np
import pytest
from grader.judge.findings import BudgetExceeded, NotProven, RuleViolation, WrongAnswer
from grader.suite.case import Array, Case
from grader.suite.marks import part, points

pytestmark = [part("thing"), pytest.mark.mpi]

@dataclass(frozen=True)
class Number(Case):
    name: str = "one"
    probe: str = "call"

    @property
    def label(self):
        return self.name

    def inputs(self, random, ranks, data):
        return [{"number": float(random.random())} for _ in range(ranks)]

    def results(self, rank, ranks):
        return {"number": Array("float64", ())}

CASES = (Number(), Number(name="two"))
"""


def echo(plan):
    """Answer every case with what went in."""
    return Launched(tuple(outcome(plan, case) for case in plan.cases), None)


ALTERED = """
from dataclasses import replace
from grader.model import AlteredMessage
ALTERED = (replace(CASES[0], altered_message=AlteredMessage(0, 0)),)
"""


def outcome(plan, case):
    results = tuple({"number": np.asarray(given["number"])} for given in case.inputs)
    return Outcome(case.label, plan.ranks, case.inputs, results, Trace(()), 0.1)


def failing(verdict, after=0):
    """Answer `after` cases, then end with a verdict."""

    def launch(plan):
        outcomes = tuple(outcome(plan, case) for case in plan.cases[:after])
        return Launched(outcomes, RunFailure(verdict, "it ended", "the detail"))

    return launch


def graded(tmp_path, body, launch=echo, **options):
    suite = tmp_path / "test_thing.py"
    suite.write_text(HEAD + textwrap.dedent(body))
    grading = Grading(
        assignment="a",
        part="thing",
        entry="go()",
        world="mpi",
        probes="",
        limits=Limits(),
        submission={},
        support={},
        secret=PUBLIC_SECRET,
        launch=launch,
        **options,
    )
    return grade_suite(suite, grading)


def grade(tmp_path, body, launch=echo, **options):
    found = graded(tmp_path, body, launch, **options)
    tests = {result.name.removeprefix("test_"): result for result in found.tests}
    return tests, found.num_launches


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("pass", Verdict.ACCEPTED),
        ("assert 1 == 2", Verdict.WRONG_ANSWER),
        ("raise WrongAnswer('x')", Verdict.WRONG_ANSWER),
        ("raise RuleViolation('x')", Verdict.RULE_VIOLATION),
        ("raise BudgetExceeded('x')", Verdict.TIME_LIMIT_EXCEEDED),
        ("raise NotProven('x')", Verdict.NOT_PROVEN),
        ("raise ValueError('x')", Verdict.JUDGE_ERROR),
        ("pytest.skip('no reason')", Verdict.JUDGE_ERROR),
    ],
)
def test_what_a_test_raises_is_its_verdict(tmp_path, line, verdict):
    """Only what the judge's own functions raise costs the student; the rest is the grader's."""
    tests, _ = grade(tmp_path, f'@points(3)\ndef test_it():\n    """It holds."""\n    {line}\n')
    assert tests["it"].verdict is verdict
    assert tests["it"].sentence == "It holds."
    assert tests["it"].points == (3 if verdict is Verdict.ACCEPTED else 0)


def test_all_parameters_or_nothing(tmp_path):
    """One failing parameter costs all points of its function; the first that fails is told."""
    tests, _ = grade(
        tmp_path,
        """
        @points(4)
        @pytest.mark.parametrize("ranks", [1, 2, 3])
        def test_it(ranks):
            assert ranks < 2, f"{ranks} are too many"
        """,
    )
    assert (tests["it"].points, tests["it"].max_points) == (0, 4)
    assert tests["it"].where == "ranks=2"
    assert tests["it"].message.startswith("2 are too many")


def test_what_requires_a_failed_test_is_skipped_and_unpaid(tmp_path):
    """Right traffic with wrong numbers is not paid, down the chain."""
    tests, _ = grade(
        tmp_path,
        """
        @points(1)
        def test_first(): assert False
        @points(2, requires=test_first)
        def test_second(): pass
        @points(4, requires=test_second)
        def test_third(): pass
        @points(8)
        def test_other(): pass
        """,
    )
    assert tests["second"].message == tests["third"].message == "not run: this failed: first"
    verdicts = {name: (test.verdict, test.points) for name, test in tests.items()}
    assert verdicts == {
        "first": (Verdict.WRONG_ANSWER, 0),
        "second": (Verdict.SKIPPED, 0),
        "third": (Verdict.SKIPPED, 0),
        "other": (Verdict.ACCEPTED, 8),
    }


def test_the_same_cases_are_launched_once(tmp_path):
    """Two tests over one tuple of cases share a run; another number of ranks is another run."""
    tests, num_launches = grade(
        tmp_path,
        """
        @points(1)
        @pytest.mark.parametrize("ranks", [2, 3])
        def test_one(run, ranks):
            for case, outcome in run(ranks, CASES):
                assert [float(n) for n in outcome["number"]] == [
                    i["number"] for i in outcome.inputs]
        @points(1)
        def test_two(run):
            assert len(list(run(2, CASES))) == 2
            assert [c.name for c, _ in run(2, CASES).having(name="two")] == ["two"]
        """,
    )
    assert {test.verdict for test in tests.values()} == {Verdict.ACCEPTED}
    assert num_launches == 2


@pytest.mark.parametrize("verdict", [Verdict.DEADLOCK, Verdict.TIME_LIMIT_EXCEEDED])
def test_after_a_deadlock_or_a_limit_nothing_more_is_launched(tmp_path, verdict):
    """What was answered before still counts; the tests of later runs are skipped."""
    tests, num_launches = grade(
        tmp_path,
        """
        @points(1)
        def test_answered(run):
            list(run(2, CASES).having(name="one"))
        @points(1)
        def test_unanswered(run):
            list(run(2, CASES))
        @points(1)
        def test_later(run):
            list(run(3, CASES))
        """,
        failing(verdict, after=1),
    )
    assert tests["answered"].verdict is Verdict.ACCEPTED
    assert tests["unanswered"].verdict is verdict
    assert tests["unanswered"].message == "2 ranks, two: it ended"
    assert tests["unanswered"].detail == "the detail"
    assert tests["later"].verdict is Verdict.SKIPPED
    assert num_launches == 1


def test_on_our_version_of_another_part_the_own_one_is_not_paid(tmp_path):
    """`own=` tests need the student's own version of the part below."""
    body = """
        @points(1, own="ring")
        def test_own(): pass
        @points(2)
        def test_rest(): pass
        """
    tests, _ = grade(tmp_path, body, own_part_replaced="ring")
    assert (tests["own"].verdict, tests["own"].points) == (Verdict.SKIPPED, 0)
    assert tests["rest"].points == 2
    tests, _ = grade(tmp_path, body)
    assert tests["own"].points == 1


def test_a_launch_that_the_machine_refuses_is_the_graders_failure(tmp_path):
    """A GraderError inside a test is never a zero."""

    def refuse(plan):
        raise GraderError("no machine")

    tests, _ = grade(tmp_path, "@points(1)\ndef test_it(run):\n    list(run(2, CASES))\n", refuse)
    assert tests["it"].verdict is Verdict.JUDGE_ERROR
    assert "no machine" in tests["it"].message


def test_a_suite_that_cannot_be_read_raises(tmp_path):
    """A broken suite is the grader's failure, with pytest's own words."""
    with pytest.raises(GraderError, match=r"test_thing.py could not be run"):
        grade(tmp_path, "import nothing_of_that_name\n")
    with pytest.raises(GraderError, match="has no points"):
        grade(tmp_path, "def test_it(): pass\n")


def test_inputs_depend_on_everything_but_the_submission():
    """Another secret, part, number of ranks or label gives other inputs; a regrade the same."""
    namespace: dict = {}
    exec(HEAD, namespace)
    cases = namespace["CASES"]

    def numbers(ranks=2, secret=b"s", assignment="a", part="p"):
        calls = case_calls(cases, ranks, secret=secret, assignment=assignment, part=part)
        return [call.inputs[0]["number"] for call in calls]

    base = numbers()
    assert base == numbers()
    assert base[0] != base[1]
    for other in (
        numbers(secret=b"t"),
        numbers(part="q"),
        numbers(assignment="b"),
        numbers(ranks=3),
    ):
        assert other[0] != base[0]


def test_two_cases_with_one_label_are_refused():
    """A label is the seed: the same twice would be the same input twice."""
    namespace: dict = {}
    exec(HEAD, namespace)
    twice = (namespace["Number"](), namespace["Number"]())
    with pytest.raises(GraderError, match="two cases of p have the label 'one'"):
        case_calls(twice, 2, secret=b"s", assignment="a", part="p")


def test_a_hang_that_no_test_has_looked_at_is_told_all_the_same(tmp_path):
    """The part ends in the second case of 2 ranks; the first test looks at first cases only."""
    tests, num_launches = grade(
        tmp_path,
        """
        @points(1)
        @pytest.mark.parametrize("ranks", [2, 3])
        def test_first(run, ranks):
            for case, outcome in run(ranks, CASES).having(name="one"): pass
        @points(2, requires=test_first)
        def test_second(run):
            for case, outcome in run(2, CASES).having(name="two"): pass
        """,
        failing(Verdict.DEADLOCK, after=1),
    )
    assert num_launches == 1
    assert (tests["first"].verdict, tests["first"].points) == (Verdict.DEADLOCK, 0)
    assert tests["first"].message == "2 ranks, two: it ended"
    assert tests["second"].verdict is Verdict.SKIPPED


@pytest.mark.parametrize("verdict", [Verdict.DEADLOCK, Verdict.TIME_LIMIT_EXCEEDED])
def test_what_an_altered_message_leads_to_does_not_end_the_part(tmp_path, verdict):
    """The end of such a launch is evidence; the tests after it are run."""
    body = (
        ALTERED
        + """
@points(1)
def test_altered(run):
    ((case, answer),) = run(2, ALTERED).answers()
    assert answer.message == "2 ranks, one: it ended"

@points(1)
def test_later(run):
    for case, outcome in run(2, CASES):
        pass
"""
    )

    def launch(plan):
        return (failing(verdict) if plan.cases[0].altered_message else echo)(plan)

    tests, num_launches = grade(tmp_path, body, launch)
    assert [test.verdict for test in tests.values()] == [Verdict.ACCEPTED] * 2
    assert num_launches == 2


def test_what_was_refused_to_ranks_that_went_on_is_kept(tmp_path):
    """Each sentence once; where it ended the run, the verdict tells it already."""
    said = "rank 0: ring.py:3 opens a C library (ctypes)"

    def launch(plan):
        if plan.ranks == 3:
            return Launched((), RunFailure(Verdict.RULE_VIOLATION, "rank 1: x"), (), ("rank 1: x",))
        return replace(echo(plan), refusals=(said,))

    body = """
@points(1)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_it(run, ranks):
    list(run(ranks, CASES))
"""
    found = graded(tmp_path, body, launch)
    assert found.refusals == (said,)
    assert found.tests[0].verdict is Verdict.RULE_VIOLATION


def test_no_rule_passes_on_evidence_that_disagrees(tmp_path):
    """The doubts of an outcome reach the rule that looks at it: its points are withheld."""

    def launch(plan):
        doubtful = Trace((), doubts=("rank 0 says this and rank 1 that",))
        outcomes = tuple(replace(outcome(plan, case), trace=doubtful) for case in plan.cases)
        return Launched(outcomes, None)

    body = """
from grader.judge.rules import assert_only_point_to_point

@points(1)
def test_values(run):
    list(run(2, CASES))

@points(2)
def test_rule(run):
    for _, outcome in run(2, CASES):
        assert_only_point_to_point(outcome.trace)
"""
    tests, _ = grade(tmp_path, body, launch)
    assert tests["values"].verdict is Verdict.ACCEPTED
    assert (tests["rule"].verdict, tests["rule"].points) == (Verdict.NOT_PROVEN, 0)
    assert "rank 0 says this and rank 1 that; a person should look" in tests["rule"].message
