"""A suite in the judge: which exception becomes which verdict, and what is paid."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest

from grader.grading_plugin.marks import Selection
from grader.grading_plugin.part_context import PartContext, SuiteSettings
from grader.grading_plugin.plan import case_calls
from grader.grading_plugin.relaunch import MOST_FRESH_LAUNCHES, MOST_FRESH_LAUNCHES_OF_PART
from grader.grading_plugin.session import grade_suite
from grader.judge.explanation.launch_result import LaunchResult
from grader.model.errors import GraderError
from grader.model.report import Outcome, RunFailure, Verdict
from grader.recording.journal import Failing, Journal
from grader.recording.launch_plan import Limits
from grader.trace.calls import Trace

HEAD = """
from dataclasses import dataclass
import numpy as np
import pytest
from grader.judge.check_failures import BudgetExceeded, NotProven, RuleViolation, WrongAnswer
from grader.grading_plugin.case import Array, Case
from grader.grading_plugin.marks import part, points

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
    return LaunchResult(tuple(outcome(plan, case) for case in plan.cases), None)


ALTERED = """
from dataclasses import replace
from grader.model.report import MessageFault
ALTERED = (replace(CASES[0], message_fault=MessageFault(0, 0)),)
"""


def outcome(plan, case):
    results = tuple({"number": np.asarray(given["number"])} for given in case.inputs)
    return Outcome(case.label, plan.ranks, case.inputs, results, Trace(()), 0.1)


def failing(verdict, after=0):
    """Answer `after` cases, then end with a verdict."""

    def launch(plan):
        outcomes = tuple(outcome(plan, case) for case in plan.cases[:after])
        failure = RunFailure(verdict, "it ended", "the detail", kind="end")
        return LaunchResult(outcomes, failure)

    return launch


def graded(tmp_path, body, launch=echo, limits=None, selection=None, journal=None, **options):
    suite = tmp_path / "test_thing.py"
    suite.write_text(HEAD + textwrap.dedent(body))
    context = PartContext(
        assignment="a",
        part="thing",
        entry="go()",
        backend="mpi",
        probes=options.pop("probes", {}),
        limits=limits or Limits(),
        submission=options.pop("submission", {}),
        support={},
        launch=launch,
        settings=SuiteSettings(selection=selection or Selection(), journal=journal or Journal()),
        **options,
    )
    return grade_suite(suite, context)


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


@pytest.mark.parametrize(("own_s", "expected_s"), [(2.0, 10.0), (25.0, 25.0)])
def test_a_case_with_more_work_has_more_time(tmp_path, own_s, expected_s):
    """In its launch alone; none has less than its part says."""
    limits_s = {}

    def launch(plan):
        limits_s[plan.cases[0].label] = plan.limits.case_s
        return echo(plan)

    body = f"""
class Long(Number):
    time_limit_s = {own_s}

@points(1)
def test_both(run):
    list(run(2, CASES)), list(run(2, (Long(name="long"),)))
"""
    grade(tmp_path, body, launch, limits=Limits(case_s=10.0))
    assert limits_s == {"one": 10.0, "long": expected_s}


def test_a_part_takes_no_longer_than_its_time(tmp_path):
    """What a right but slow submission has come to by then is paid; the rest says why it is not."""

    def slow(plan):
        return replace(echo(plan), wall_time_s=0.3)

    body = """
        @points(1)
        def test_first(run):
            for _ in run(2, CASES):
                pass

        @points(2)
        def test_second(run):
            for _ in run(3, CASES):
                pass
        """
    tests, num_launches = grade(tmp_path, body, slow, limits=Limits(part_s=0.2))
    assert num_launches == 1
    assert tests["first"].verdict is Verdict.ACCEPTED
    assert tests["second"].verdict is Verdict.TIME_LIMIT_EXCEEDED
    assert "used up the" in tests["second"].message


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
    assert tests["it"].where == "2 ranks"
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
    assert tests["second"].message == tests["third"].message == 'not run: "first" failed'
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


def crashing(*labels, verdict=Verdict.DEADLOCK):
    """End a run at each case of these labels, and answer the others."""

    def launch(plan):
        outcomes = []
        for case in plan.cases:
            if case.label in labels:
                return LaunchResult(tuple(outcomes), RunFailure(verdict, "it ended", "the detail"))
            outcomes.append(outcome(plan, case))
        return LaunchResult(tuple(outcomes), None)

    return launch


@pytest.mark.parametrize(
    "verdict",
    [Verdict.DEADLOCK, Verdict.TIME_LIMIT_EXCEEDED, Verdict.RUN_TIME_ERROR],
)
def test_a_case_that_ends_its_run_costs_the_tests_that_ask_for_it(tmp_path, verdict):
    """What was answered before counts, and what comes after is answered in a fresh launch."""
    tests, num_launches = grade(
        tmp_path,
        """
        THREE = (*CASES, Number(name="three"))
        @points(1)
        def test_before(run):
            list(run(2, THREE).having(name="one"))
        @points(1)
        def test_ends(run):
            list(run(2, THREE))
        @points(1)
        def test_after(run):
            ((case, outcome),) = run(2, THREE).having(name="three")
            assert [float(n) for n in outcome["number"]] == [i["number"] for i in outcome.inputs]
        @points(1)
        def test_more_ranks(run):
            list(run(3, THREE).having(name="three"))
        """,
        crashing("two", verdict=verdict),
    )
    assert tests["ends"].verdict is verdict
    assert tests["ends"].message == "2 ranks, two: it ended"
    assert tests["ends"].detail == "the detail"
    others = {name: test.points for name, test in tests.items() if name != "ends"}
    assert others == {"before": 1, "after": 1, "more_ranks": 1}
    assert num_launches == 4


def test_right_code_pays_no_extra_launch_and_inputs_stay_the_same(tmp_path):
    """The inputs of a case do not depend on what failed before it."""
    seen = {}

    def launch_with(launch):
        def start(plan):
            seen.setdefault(launch, []).append([(c.label, c.inputs) for c in plan.cases])
            return launch(plan)

        return start

    body = """
        @points(1)
        def test_it(run):
            list(run(2, CASES).having(name="two"))
        """
    bad = crashing("one")
    assert grade(tmp_path, body, launch_with(echo))[1] == 1
    assert grade(tmp_path, body, launch_with(bad))[1] == 2
    assert seen[echo][0][1] == seen[bad][1][0]


def test_the_rest_of_a_subject_is_left_out_once_one_of_its_cases_ended_the_run(tmp_path):
    """A test about it has failed already; the cases of other subjects go on."""
    launched = []

    def launch(plan):
        launched.append([case.label for case in plan.cases])
        return crashing("one")(plan)

    tests, _ = grade(
        tmp_path,
        """
        SUBJECTS = tuple(
            Number(name=name, subject=subject)
            for name, subject in (("one", "a"), ("two", "b"), ("three", "a"), ("four", ""))
        )
        @points(1)
        def test_a(run):
            list(run(2, SUBJECTS).having(subject="a"))
        @points(1)
        def test_b(run):
            list(run(2, SUBJECTS).having(subject="b"))
        @points(1)
        def test_three(run):
            list(run(2, SUBJECTS).having(name="three"))
        """,
        launch,
    )
    assert launched == [["one", "two", "three", "four"], ["two", "four"]]
    assert tests["a"].verdict is Verdict.DEADLOCK
    assert tests["b"].verdict is Verdict.ACCEPTED
    assert tests["three"].verdict is Verdict.SKIPPED
    assert tests["three"].message == "not run: same cause as above"


def test_after_a_few_failures_the_rest_is_not_run(tmp_path):
    """Bounded for each `run`; a run of other ranks still starts, and not-run is not a failure."""
    tests, num_launches = grade(
        tmp_path,
        """
        MANY = tuple(Number(name=str(number)) for number in range(7))
        @points(1)
        @pytest.mark.parametrize("name", ["5", "0"])
        def test_failed_beats_not_run(run, name):
            list(run(2, MANY).having(name=name))
        @points(1)
        def test_last(run):
            list(run(2, MANY).having(name="6"))
        @points(1)
        def test_more_ranks(run):
            list(run(3, CASES))
        """,
        crashing(*map(str, range(7))),
    )
    assert num_launches == 1 + MOST_FRESH_LAUNCHES + 1
    assert tests["failed_beats_not_run"].verdict is Verdict.DEADLOCK
    assert tests["failed_beats_not_run"].where == "name=0"
    assert tests["last"].verdict is Verdict.SKIPPED
    assert tests["more_ranks"].verdict is Verdict.ACCEPTED


def test_cases_after_a_failure_are_put_to_ranks_when_a_test_asks_for_them(tmp_path):
    """So the first sentence does not wait for launches that only later tests need."""
    body = """
        MANY = (Number(name="1", subject="1"), Number(name="2"))
        @points(1)
        def test_first(run): list(run(2, MANY).having(name="1"))
        @points(1)
        def test_second(run): list(run(2, MANY).having(name="2"))
    """
    launches = []

    def launch(plan):
        launches.append([call.label for call in plan.cases])
        return crashing("1")(plan)

    tests, _ = grade(tmp_path, body, launch, selection=Selection(only=("test_first",)))
    assert tests["first"].verdict is Verdict.DEADLOCK
    assert [len(labels) for labels in launches] == [2]
    launches.clear()
    tests, _ = grade(tmp_path, body, launch)
    assert tests["second"].verdict is Verdict.ACCEPTED
    assert [len(labels) for labels in launches] == [2, 1]


def test_a_part_has_only_so_many_fresh_launches(tmp_path):
    """Whatever the number of ranks; a launch that no failure has touched still starts."""
    body = "MANY = tuple(Number(name=str(number)) for number in range(9))"
    for ranks in range(1, 9):
        body += f"\n@points(1)\ndef test_{ranks}(run): list(run({ranks}, MANY).answers())"
    bad = crashing(*map(str, range(1, 9)))
    assert grade(tmp_path, body, bad)[1] == 8 + MOST_FRESH_LAUNCHES_OF_PART


def test_a_parameter_that_fails_decides(tmp_path):
    """The launches that only its other parameters ask for are not started."""
    body = """
        @points(1)
        @pytest.mark.parametrize("ranks", [1, 2, 3])
        def test_it(run, ranks):
            list(run(ranks, (Number(),)))
            raise WrongAnswer("no")
        """
    tests, num_launches = grade(tmp_path, body)
    assert (tests["it"].where, num_launches) == ("1 rank", 1)


def test_what_fails_alike_on_two_numbers_of_ranks_before_any_answer_ends_the_part(tmp_path):
    """An import error would be met in each launch; on one number of ranks it may be about that."""
    body = ""
    for ranks in range(1, 6):
        body += f"\n@points(1)\ndef test_{ranks}(run): list(run({ranks}, (Number(),)))"
    tests, num_launches = grade(tmp_path, body, failing(Verdict.RUN_TIME_ERROR))
    assert num_launches == 2
    assert tests["2"].verdict is Verdict.RUN_TIME_ERROR
    assert tests["3"].verdict is Verdict.SKIPPED
    assert tests["3"].message == "not run: the part had already ended"

    def bad_on_one(plan):
        return (failing(Verdict.RUN_TIME_ERROR) if plan.ranks == 1 else echo)(plan)

    tests, num_launches = grade(tmp_path, body, bad_on_one)
    assert num_launches == 5
    assert tests["2"].verdict is tests["5"].verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("verdict", [Verdict.NOT_ATTEMPTED, Verdict.RUN_TIME_ERROR])
def test_where_there_is_nothing_to_call_one_test_says_so_and_the_others_are_not_run(
    tmp_path, verdict
):
    """Also when the first test to ask wants another case."""

    def launch(plan):
        return LaunchResult((), RunFailure(verdict, "nothing", is_lasting=True))

    tests, num_launches = grade(
        tmp_path,
        """
        @points(1)
        def test_second(run):
            list(run(2, CASES).having(name="two"))
        @points(1)
        def test_first(run):
            list(run(2, CASES).having(name="one"))
        @points(1)
        def test_other(run):
            list(run(3, CASES))
        """,
        launch,
    )
    assert num_launches == 1
    assert tests["second"].verdict is verdict
    assert tests["second"].message == "nothing"
    assert tests["other"].verdict is Verdict.SKIPPED


def test_what_is_not_written_for_one_case_is_an_error_of_that_case(tmp_path):
    """Other cases have answers: the part was attempted."""
    tests, _ = grade(
        tmp_path,
        """
        @points(1)
        def test_one(run):
            list(run(2, CASES).having(name="one"))
        @points(1)
        def test_two(run):
            list(run(2, CASES).having(name="two"))
        """,
        crashing("two", verdict=Verdict.NOT_ATTEMPTED),
    )
    assert tests["one"].verdict is Verdict.ACCEPTED
    assert tests["two"].verdict is Verdict.RUN_TIME_ERROR


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("for _ in run(2, CASES).having(name='typo'): pass", "no case on 2 ranks has name='typo'"),
        ("run(2, CASES)", "checked no outcome"),
        ("next(iter([])) if run(2, CASES).having(name='one') is None else None", "no outcome"),
    ],
)
def test_a_check_of_nothing_is_the_graders_failure(tmp_path, line, reason):
    """It would hold whatever came back."""
    tests, _ = grade(tmp_path, f"@points(1)\ndef test_it(run):\n    {line}\n")
    assert tests["it"].verdict is Verdict.JUDGE_ERROR
    assert reason in tests["it"].message


def test_an_assertion_of_the_engine_is_the_graders_failure(tmp_path):
    """Only an `assert` of the suite itself speaks of the submission."""

    def launch(plan):
        raise AssertionError("a bug of ours")

    tests, _ = grade(tmp_path, "@points(1)\ndef test_it(run):\n    list(run(2, CASES))\n", launch)
    assert tests["it"].verdict is Verdict.JUDGE_ERROR
    assert "a bug of ours" in tests["it"].message


def test_one_of_several_required_tests_is_enough(tmp_path):
    """What is sound is paid beside either of two right things, and beside none not at all."""
    body = """
        @points(1)
        def test_first(): assert FIRST
        @points(1)
        def test_second(): assert SECOND
        @points(2, requires=(test_first, test_second))
        def test_either(): pass
        """
    for first, second, verdict in (
        (True, False, Verdict.ACCEPTED),
        (False, True, Verdict.ACCEPTED),
        (False, False, Verdict.SKIPPED),
    ):
        filled = body.replace("FIRST", str(first)).replace("SECOND", str(second))
        assert grade(tmp_path, filled)[0]["either"].verdict is verdict


def test_rules_are_judged_on_the_cases_that_hold(tmp_path):
    """`holding` leaves out what is wrong, has crashed or was never run."""
    tests, _ = grade(
        tmp_path,
        """
        def refuse_two(case, outcome):
            if case.name == "two":
                raise WrongAnswer("no")
        @points(1)
        def test_it(run):
            launch = run(2, (*CASES, Number(name="three"), Number(name="four")))
            assert [case.name for case, _ in launch.holding(refuse_two)] == ["one", "four"]
        """,
        crashing("three"),
    )
    assert tests["it"].verdict is Verdict.ACCEPTED


def test_a_test_may_say_that_its_question_does_not_arise(tmp_path):
    """Then it is not run, and pays nothing."""
    body = """
        from grader.grading_plugin.marks import not_run
        @points(1)
        def test_it(): not_run("no case of three ranks is right")
        """
    tests, _ = grade(tmp_path, body)
    assert tests["it"].verdict is Verdict.SKIPPED
    assert tests["it"].message == "not run: no case of three ranks is right"


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


def test_an_argument_that_nothing_gives_is_named(tmp_path):
    tests, _ = grade(tmp_path, "@points(1)\ndef test_it(runs): pass\n")
    assert tests["it"].verdict is Verdict.JUDGE_ERROR
    assert tests["it"].message.startswith("the test has an argument runs, which is not a fixture")


def test_a_suite_that_cannot_be_read_raises(tmp_path):
    """A broken suite is the grader's failure."""
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
        return (failing(verdict) if plan.cases[0].message_fault else echo)(plan)

    tests, num_launches = grade(tmp_path, body, launch)
    assert [test.verdict for test in tests.values()] == [Verdict.ACCEPTED] * 2
    assert num_launches == 2


def test_what_was_refused_to_ranks_that_went_on_is_kept(tmp_path):
    """Each sentence once; where it ended the run, the verdict tells it already."""
    said = "rank 0: ring.py:3 opens a C library (ctypes)"

    def launch(plan):
        if plan.ranks == 3:
            failure = RunFailure(Verdict.RULE_VIOLATION, "rank 1: x")
            return LaunchResult((), failure, refusals=("rank 1: x",))
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
        return LaunchResult(outcomes, None)

    body = """
from grader.judge.traffic.rules import assert_only_point_to_point

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
    assert ("rank 0 says this and rank 1 that. Your instructor reviews this part") in tests[
        "rule"
    ].message


SELECTED = """
        @points(1)
        @pytest.mark.parametrize("ranks", [2, 3])
        def test_first(run, ranks):
            list(run(ranks, CASES))
        @points(2, requires=test_first)
        def test_second(run):
            for ranks in (2, 3):
                run(ranks, CASES).holding(lambda case, outcome: None)
            raise WrongAnswer("no")
        @points(4)
        def test_third(run):
            list(run(2, CASES))
"""


def test_only_the_tests_asked_for_are_run_with_those_they_require(tmp_path):
    """With or without `test_`."""
    for name in ("second", "test_second"):
        tests, _ = grade(tmp_path, SELECTED, selection=Selection(only=(name,)))
        assert list(tests) == ["first", "second"]
    assert graded(tmp_path, SELECTED, selection=Selection(only=("nothing",))).tests == ()


def test_the_first_test_that_starts_ranks_can_be_all_that_is_run(tmp_path):
    """Before it one that starts none is left out."""
    body = f"""
        @points(1)
        def test_of_text():
            pass
        {SELECTED.strip()}
    """
    selection = Selection(first_with_ranks=True)
    assert not selection.is_mark
    tests, launches = grade(tmp_path, body, selection=selection)
    assert (list(tests), launches) == (["first"], 2)


def test_only_the_number_of_ranks_asked_for_is_launched(tmp_path):
    """Tests that need another are not run."""
    launched = []

    def launch(plan):
        launched.append(plan.ranks)
        return echo(plan)

    tests, _ = grade(tmp_path, SELECTED, launch, selection=Selection(ranks=3))
    assert set(launched) == {3}
    assert tests["first"].verdict is Verdict.ACCEPTED
    assert tests["third"].message == "not run: --ranks selects 3 ranks only"


def test_what_is_left_out_decides_nothing(tmp_path):
    """A test for other ranks that a wanted one requires is no failure, and no grader's failure."""
    body = """
        @points(1)
        @pytest.mark.parametrize("ranks", [2, 4])
        def test_two(run, ranks):
            list(run(ranks, CASES))
        @points(1)
        def test_four(run):
            list(run(4, CASES))
        @points(1, requires=(test_two, test_four))
        @pytest.mark.parametrize("ranks", [2, 3])
        def test_more(run, ranks):
            list(run(ranks, CASES))
    """
    tests, _ = grade(tmp_path, body, selection=Selection(ranks=3))
    assert list(tests) == ["four", "more"]
    assert tests["four"].message == "not run: --ranks selects 3 ranks only"
    assert tests["more"].verdict is Verdict.ACCEPTED


def test_what_requires_something_that_was_not_run_says_so(tmp_path):
    """It did not fail."""
    body = """
        from grader.grading_plugin.marks import not_run
        @points(1)
        def test_first(): not_run("nobody came")
        @points(1, requires=test_first)
        def test_second(): pass
    """
    tests, _ = grade(tmp_path, body)
    assert tests["second"].message == 'not run: "first" did not run'


def test_what_found_no_answers_because_nobody_asked_ranks_says_why(tmp_path):
    """And not that answers were wrong: there were none."""
    body = """
        from grader.grading_plugin.marks import not_run
        @points(1)
        def test_any(run):
            if not list(run(2, CASES).answers()):
                not_run("even the plainest sum fails")
    """
    tests, _ = grade(tmp_path, body, selection=Selection(ranks=3))
    assert tests["any"].message == "not run: --ranks selects 3 ranks only"


def test_fail_fast_runs_nothing_after_the_first_failure(tmp_path):
    """What comes after it is not run, and does not look failed."""
    tests, _ = grade(tmp_path, SELECTED, selection=Selection(fail_fast=True))
    verdicts = [test.verdict for test in tests.values()]
    assert verdicts == [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SKIPPED]


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("3 ranks, length 13: x is 1", "3 ranks, dtype=int8"),
        ("x is 1", "3 ranks, dtype=int8"),
        ("rank 2 has x is 1", "3 ranks, dtype=int8"),
        ("2 ranks, length 13: x is 1", "dtype=int8"),
        ("1 rank, length 13: 3 elements differ", "dtype=int8"),
        ("on 4 ranks and on 3 ranks x is 1", "3 ranks, dtype=int8"),
    ],
)
def test_where_a_test_failed_never_contradicts_its_message(tmp_path, message, where):
    """A test may look at a run on another number of ranks than its parameter's."""
    tests, _ = grade(
        tmp_path,
        f"""
        @points(1)
        @pytest.mark.parametrize(("ranks", "dtype"), [(3, "int8")])
        def test_it(ranks, dtype):
            raise WrongAnswer({message!r})
        """,
    )
    assert (tests["it"].message, tests["it"].where) == (message, where)


def test_what_was_not_run_has_failed_nowhere(tmp_path):
    """A number of ranks beside it would read as if it had been tried on so many."""
    tests, _ = grade(
        tmp_path,
        """
        @points(1)
        @pytest.mark.parametrize("ranks", [1, 2])
        def test_first(ranks):
            assert ranks == 1

        @points(1, requires=test_first)
        @pytest.mark.parametrize("ranks", [1, 2])
        def test_second(ranks):
            pass

        @points(1)
        @pytest.mark.parametrize("ranks", [2])
        def test_third(run, ranks):
            for case, outcome in run(ranks, CASES).having(name="two"):
                pass
        """,
        failing(Verdict.NOT_ATTEMPTED),
        selection=Selection(ranks=2),
    )
    assert tests["first"].where == "2 ranks"
    assert (tests["second"].verdict, tests["second"].where) == (Verdict.SKIPPED, "")
    assert all(test.where == "" for test in tests.values() if test.verdict is Verdict.SKIPPED)


TIMED = """
    @dataclass(frozen=True)
    class Timed(Number):
        purpose: str = "values"

    RUN = (
        Timed(name="plain", probe="plain", purpose="yardstick"),
        Timed(name="theirs", purpose="timing"),
    )

    @points(1)
    def test_it(run):
        assert [case.name for case, outcome in run(2, RUN)] == ["plain", "theirs"]
    """


def test_yardsticks_have_ranks_in_which_nothing_of_the_submission_is(tmp_path):
    """Right after the timed case; and neither launch is sent the probes of the other."""
    launched = []

    def launch(plan):
        probes = sorted(plan.probes)
        launched.append(([case.label for case in plan.cases], probes, dict(plan.submission)))
        return echo(plan)

    probes = {"__init__": "from .calls import call\nfrom .serial import plain\n"}
    probes |= {"calls": "", "serial": ""}
    found = graded(tmp_path, TIMED, launch, probes=probes, submission={"work.py": b""})
    assert found.tests[0].verdict is Verdict.ACCEPTED
    assert found.num_launches == 2
    assert launched == [
        (["theirs"], ["__init__", "calls"], {"work.py": b""}),
        (["plain"], ["__init__", "serial"], {}),
    ]


def test_a_yardstick_that_the_submission_would_be_sent_is_an_error_of_the_course(tmp_path):
    """No rank is started for it."""
    probes = {"__init__": "from .calls import call, plain\n", "calls": ""}
    found = graded(tmp_path, TIMED, probes=probes)
    assert (found.tests[0].verdict, found.num_launches) == (Verdict.JUDGE_ERROR, 0)
    assert "the yardstick plain is in a module" in found.tests[0].message


def test_what_is_not_written_of_one_call_says_nothing_of_another(tmp_path):
    """Both tests of it say so, and what another call can do is judged and paid."""

    def launch(plan):
        if "one" in plan.cases[0].label:
            return echo(plan)
        return LaunchResult((), RunFailure(Verdict.NOT_ATTEMPTED, "not attempted", is_lasting=True))

    body = """
        @dataclass(frozen=True)
        class Other(Number):
            call: str = "Other"

        @points(1)
        def test_other(run):
            for _ in run(1, (Other(name="three"),)):
                pass

        @points(2)
        def test_other_again(run):
            for _ in run(2, (Other(name="three"),)):
                pass

        @points(4)
        def test_main(run):
            for _ in run(2, CASES):
                pass
        """
    tests, num_launches = grade(tmp_path, body, launch)
    assert num_launches == 2
    assert tests["other"].verdict is Verdict.RUN_TIME_ERROR
    assert tests["other_again"].verdict is Verdict.SKIPPED
    assert tests["main"].points == 4


def test_where_nothing_is_written_nothing_was_attempted(tmp_path):
    """Neither of two calls."""

    def launch(plan):
        return LaunchResult((), RunFailure(Verdict.NOT_ATTEMPTED, "not attempted", is_lasting=True))

    tests, _ = grade(
        tmp_path,
        """
        @dataclass(frozen=True)
        class Other(Number):
            call: str = "Other"

        @points(1)
        def test_other(run):
            for _ in run(1, (Other(name="three"),)):
                pass

        @points(4)
        def test_main(run):
            for _ in run(2, CASES):
                pass
        """,
        launch,
    )
    assert {test.verdict for test in tests.values()} == {Verdict.NOT_ATTEMPTED}


FIRST_OF_TWO = """
@points(1)
def test_first(run):
    for ranks in (4, 3):
        answers = [*run(ranks, CASES).answers()]
    assert all(type(answer).__name__ == "Outcome" for _, answer in answers)
"""


@pytest.mark.parametrize(
    ("verdict", "is_hidden", "told"),
    [
        (Verdict.TIME_LIMIT_EXCEEDED, False, [("test_first", Verdict.TIME_LIMIT_EXCEEDED)]),
        (Verdict.TIME_LIMIT_EXCEEDED, True, []),
        (Verdict.JUDGE_ERROR, False, []),
    ],
)
def test_ranks_that_fail_are_told_before_their_test_ends(tmp_path, verdict, is_hidden, told):
    """Once, and nothing of hidden tests or of what the machine is to blame for."""
    seen = []
    journal = Journal(on_finished=seen.append)
    graded(tmp_path, FIRST_OF_TWO, failing(verdict), journal=journal, is_hidden=is_hidden)
    early = [each for each in seen if isinstance(each, Failing)]
    assert [(each.result.name, each.result.verdict) for each in early] == told
    assert isinstance(seen[0], Failing) == bool(told)


def test_ranks_that_are_meant_to_fail_are_not_told(tmp_path):
    """With a message altered on its way, code that is right may well crash."""
    seen = []
    body = f"{ALTERED}\n@points(1)\ndef test_it(run):\n    [*run(2, ALTERED).answers()]\n"
    journal = Journal(on_finished=seen.append)
    graded(tmp_path, body, failing(Verdict.RUN_TIME_ERROR), journal=journal)
    assert not [each for each in seen if isinstance(each, Failing)]
