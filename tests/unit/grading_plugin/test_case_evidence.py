"""What is gathered to be shown of the case that decided a test."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from grader.grading_plugin.case import Case
from grader.grading_plugin.case_evidence import EvidenceCollector
from grader.grading_plugin.launch_results import RunFailed
from grader.judge.check_failures import RuleViolation, WrongAnswer
from grader.judge.values.array_comparison import assert_every_rank, differences_of
from grader.model.evidence import Budget, Evidence
from grader.model.report import MessageFault, Outcome, RunFailure, TestResult, Verdict
from grader.trace.calls import Trace

from ..judge.explanation.test_timeline import receive, send, trace

RIGHT = trace([send(0, 1)], [receive(0, 0)])
SOURCES = {"ring.py": b"one\ntwo\nthree\n"}


@dataclass(frozen=True)
class Named(Case):
    words: str = ""

    @property
    def label(self):
        return self.words


def outcome(label="small", seen: Trace = RIGHT):
    ranks = len(seen.ranks)
    return Outcome(label, ranks, ({},) * ranks, ({},) * ranks, seen, 0.1)


def failed(message="it is wrong", verdict=Verdict.WRONG_ANSWER):
    return TestResult("test_a", "A.", verdict, 0, 1, message)


def collector(**options):
    return EvidenceCollector(SOURCES, **{"is_kept": True, **options})


def looking(found, *labels, ranks=2):
    for label in labels:
        found.looks_at(ranks, Named("probe", words=label), outcome(label))
    return found


def test_the_case_that_the_message_names_is_shown():
    found = looking(collector(), "small", "large", "tiny")
    result = found.with_failure(failed("2 ranks, large: rank 0 is wrong"), WrongAnswer("x"))
    assert result.evidence.case == "2 ranks, large"
    assert len(result.evidence.timeline.messages) == 1
    assert result.evidence.edges[0].num_bytes == 80


def test_where_it_names_none_the_last_one_is_shown():
    found = looking(collector(), "small", "large")
    assert found.with_failure(failed(), WrongAnswer("x")).evidence.case == "2 ranks, large"


def test_differences_survive_that_a_suite_says_it_in_its_own_words():
    with pytest.raises(WrongAnswer) as raised:
        try:
            assert_every_rank([np.array([1.0, 2.0, 5.0])], equals=np.array([1.0, 3.0, 4.0]))
        except WrongAnswer as error:
            raise WrongAnswer(f"in words: {error}") from None
    result = looking(collector(), "small").with_failure(failed(), raised.value)
    (differing,) = result.evidence.differences
    assert (differing.rank, differing.num_differing, differing.num_elements) == (0, 2, 3)
    assert [(each.index, each.actual, each.expected) for each in differing.elements] == [
        ("[1]", "2", "3"),
        ("[2]", "5", "4"),
    ]


def test_a_suite_calls_elements_as_its_students_do():
    got, expected = np.arange(12.0), np.zeros(12)
    shown = differences_of(1, got, expected, got > 1, place=lambda index: f"bias[{index}]")
    error = WrongAnswer.at("it is wrong", (shown,))
    (differing,) = looking(collector(), "small").with_failure(failed(), error).evidence.differences
    assert (differing.rank, differing.num_differing, differing.num_elements) == (1, 10, 12)
    assert [each.index for each in differing.elements] == [f"bias[{n}]" for n in range(2, 10)]
    assert (differing.elements[0].actual, differing.elements[0].expected) == ("2", "0")


def test_budgets_and_lines_are_shown_without_any_case():
    error = RuleViolation.over("too much", (Budget("rank 0", 2.0, 1.0, "elements"),))
    result = collector().with_failure(failed("too much at ring.py:2"), error)
    assert result.evidence.budgets[0].actual == 2.0
    assert [line.finding for line in result.evidence.excerpts[0].lines] == [
        "",
        "too much at ring.py:2",
        "",
    ]


def test_a_line_is_told_what_was_found_there_without_the_case():
    """The case stands above all that was seen of it."""
    failure = failed("2 ranks, small: rank 0 is wrong at ring.py:2")
    result = looking(collector(), "small").with_failure(failure, WrongAnswer("x"))
    assert result.evidence.excerpts[0].lines[1].finding == "rank 0 is wrong at ring.py:2"


def test_a_run_that_ended_brings_its_own_evidence():
    seen = Evidence("2 ranks, small", 2, edges=())
    failure = RunFailure(Verdict.DEADLOCK, "deadlock at ring.py:1", evidence=seen)
    result = collector().with_failure(failed("deadlock at ring.py:1"), RunFailed(failure))
    assert result.evidence.case == "2 ranks, small"
    assert result.evidence.excerpts[0].file == "ring.py"


def test_one_message_is_shown_once_and_a_part_shows_four():
    found = collector()
    shown = []
    for message in ("a", "a", "b", "c", "d", "e"):
        result = looking(found, "small").with_failure(failed(message), WrongAnswer("x"))
        shown.append(result.evidence is not None)
    assert shown == [True, False, True, True, True, False]


@pytest.mark.parametrize("verdict", [Verdict.SKIPPED, Verdict.JUDGE_ERROR])
def test_what_was_not_run_and_what_the_grader_failed_on_has_none(verdict):
    found = looking(collector(), "small")
    assert found.with_failure(failed(verdict=verdict), ValueError("x")).evidence is None


def test_hidden_tests_have_none():
    found = looking(collector(is_kept=False), "small")
    assert found.with_failure(failed(), WrongAnswer("x")).evidence is None
    found.end_parameter("test_a")
    assert found.with_success(failed()).evidence is None
    assert replace(failed(), evidence=Evidence("x", 1)).redacted().evidence is None


def test_of_tests_that_hold_the_first_one_with_messages_shows_its_last_case():
    found = collector()
    looking(found, "alone", ranks=1).end_parameter("test_alone")
    looking(found, "small", "large").end_parameter("test_first")
    looking(found, "tiny").end_parameter("test_second")
    passed = [
        found.with_success(replace(failed(), name=name))
        for name in ("test_alone", "test_first", "test_second")
    ]
    assert [each.evidence and each.evidence.case for each in passed] == [
        None,
        "2 ranks, large",
        None,
    ]


def test_a_case_with_an_altered_message_is_no_example():
    found = collector()
    fault = MessageFault(rank=0, number=0)
    found.looks_at(2, Named("probe", words="altered", message_fault=fault), outcome())
    found.end_parameter("test_a")
    assert found.with_success(failed()).evidence is None
