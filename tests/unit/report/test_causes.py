"""What cost a part its points: one cause a block, and all that it costs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from grader.model.evidence import Evidence, MarkedLine, SourceExcerpt
from grader.model.finding import Finding
from grader.model.report import PartResult, TestResult, Verdict
from grader.report.causes import causes, costliest_first
from grader.report.words import blocked_text, headline, seen_text

from . import example, hostile


def lost(name, points, key="ring.wrong", place="ring.py:3", **more):
    found = Finding(key, f"{name} is wrong", {"place": place})
    fields = {"findings": (found,), "message": found.text, **more}
    return TestResult(f"test_{name}", name, Verdict.WRONG_ANSWER, 0, points, **fields)


def not_run(name, points, *roots):
    blocked_by = tuple(f"test_{each}" for each in roots)
    return TestResult(f"test_{name}", name, Verdict.SKIPPED, 0, points, blocked_by=blocked_by)


def found_in(*tests):
    return [
        (cause.points, [each.sentence for each in cause.tests], [b.sentence for b in cause.blocked])
        for cause in causes(example.part("ring", "A ring", *tests))
    ]


def test_one_key_at_one_place_is_one_cause():
    """Whatever the number of ranks and the sentence; at another line it is another."""
    tests = (lost("a", 1), lost("b", 2), lost("c", 4, place="ring.py:9"), lost("d", 1, key="x.y"))
    assert found_in(*tests) == [(4, ["c"], []), (3, ["b", "a"], []), (1, ["d"], [])]


def test_what_could_not_run_counts_with_what_kept_it():
    """Also through one that could not run either; of several roots with the costliest."""
    tests = (
        *(lost("a", 1), lost("b", 2, key="x.y")),
        *(not_run("c", 5, "a"), not_run("d", 3, "c"), not_run("e", 1, "a", "b")),
    )
    assert found_in(*tests) == [(9, ["a"], ["c", "d"]), (3, ["b"], ["e"])]


def test_what_a_stage_has_paid_on_a_test_is_not_lost():
    """Neither on one that failed nor on one that was not run; the costliest is who lost most."""
    tests = (
        *(replace(lost("a", 4), points=3.0), lost("b", 2)),
        replace(not_run("c", 6, "a"), points=2.0),
    )
    assert found_in(*tests) == [(7, ["b", "a"], ["c"])]
    (cause,) = causes(example.part("ring", "A ring", *tests))
    assert blocked_text(cause) == "1 check could not run because of this (4 points)."


def test_what_names_no_root_is_a_cause_of_its_own():
    """As where nobody asked for it: nothing that failed is to blame."""
    assert found_in(lost("a", 1), not_run("c", 4)) == [(4, [], ["c"]), (1, ["a"], [])]


def test_a_check_of_no_points_is_advice_where_others_pay():
    """It is told as a note; in a part that pays nothing it is all there is."""
    assert found_in(lost("a", 0), lost("b", 2, key="x.y")) == [(2, ["b"], [])]
    assert found_in(lost("a", 0)) == [(0, ["a"], [])]


def test_two_arrays_that_are_wrong_are_two_causes():
    """The same comparison finds both."""
    tests = [
        replace(lost(n, 1), findings=(Finding("value.differs", n, {"name": n}),)) for n in "ab"
    ]
    assert found_in(*tests) == [(1, ["a"], []), (1, ["b"], [])]


def test_what_was_not_run_for_nothing_that_failed_is_a_cause_of_its_own():
    (cause,) = causes(example.part("ring", "A ring", not_run("c", 4)))
    assert (cause.verdict, cause.points) == (Verdict.SKIPPED, 4)


def test_a_part_that_failed_as_a_whole_costs_all_of_it():
    """No test tells why."""
    (cause,) = causes(PartResult("a", "A", Verdict.NOT_ATTEMPTED, 0, 7, "not handed in", ()))
    assert (cause.points, cause.findings[0].text) == (7, "not handed in")


def test_plain_sentences_are_told_apart_by_their_words():
    """Of reports that were written before findings had keys."""
    tests = [replace(lost(name, 1), findings=(), message=text) for name, text in ("ax", "bx", "cy")]
    assert [
        [t.sentence for t in each.tests] for each in causes(example.part("r", "R", *tests))
    ] == [
        ["a", "b"],
        ["c"],
    ]


@given(hostile.reports)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_failed_test_is_in_one_cause_and_the_costliest_is_first(report):
    """Whatever a report holds."""
    found = costliest_first(report)
    assert [c.points for _, c in found] == sorted((c.points for _, c in found), reverse=True)
    for part in report.parts:
        told = [test for cause in causes(part) for test in (*cause.tests, *cause.blocked)]
        failed = [test for test in part.tests if test.verdict is not Verdict.ACCEPTED]
        paid = {id(test) for test in failed if test.max_points}
        assert paid <= {*map(id, told)} <= {*map(id, failed)}
        assert len(told) == len({*map(id, told)})


@pytest.mark.parametrize("report", [example.usual(), example.every_verdict()])
def test_the_points_of_all_causes_are_those_that_were_lost(report):
    for part in report.parts:
        if part.verdict is not Verdict.JUDGE_ERROR:
            assert sum(each.points for each in causes(part)) == part.max_points - part.points


def test_a_cause_that_a_dearer_one_lists_joins_it():
    """With what the dearer one says; the same key with other facts is another cause."""
    both = (Finding("ring.tail", "the tail is lost"), Finding("only.own", "own", {"rank": 0}))
    shown = Evidence("", 2, excerpts=(SourceExcerpt("ring.py", (MarkedLine(3, "x", "here"),)),))
    tests = (
        lost("a", 4, findings=both, message="a"),
        lost("b", 2, findings=both[1:], message="b", evidence=shown, detail="of b"),
        lost("c", 1, findings=(Finding("only.own", "own", {"place": "a.py:1"}),), message="c"),
    )
    assert found_in(*tests) == [(6, ["a", "b"], []), (1, ["c"], [])]
    first = causes(example.part("ring", "A ring", *tests))[0]
    assert first.findings == both and first.speaker.sentence == "a"


def test_a_check_of_no_points_that_others_wait_for_is_their_cause():
    """It is no advice: what could not run is told beside it."""
    assert found_in(lost("a", 0), not_run("b", 5, "a")) == [(5, ["a"], ["b"])]


@pytest.mark.parametrize(
    ("text", "place", "marked", "told"),
    [
        ("rank 0 failed at a.py:3", "a.py:3", 3, "Rank 0 failed."),
        ("rank 0 failed at a.py:3", "a.py:3", 5, "Rank 0 failed at a.py:3."),
        ("sends at a.py:12, as at a.py:1", "a.py:1", 1, "sends at a.py:12, as."),
        ("rank.py:5 is no Python", "rank.py:5", 5, "rank.py:5 is no Python."),
    ],
)
def test_a_headline_leaves_out_the_line_that_is_shown(text, place, marked, told):
    """That one only, and in no other number; names stay as they are."""
    file = place.partition(":")[0]
    shown = Evidence("", 2, excerpts=(SourceExcerpt(file, (MarkedLine(marked, "x", "here"),)),))
    found = (Finding("x.y", text, {"place": place}),)
    (cause,) = causes(example.part("p", "P", lost("a", 1, findings=found, evidence=shown)))
    assert headline(cause) == told


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        (["4 ranks, x", "4 ranks, y"], "Seen with 4 ranks, x."),
        (["4 ranks, x", "1 rank, x"], "Seen with 4 ranks, x; also with 1 rank."),
        (["2 ranks, x", "8 ranks", "3 ranks"], "Seen with 2 ranks, x; also with 3, 8 ranks."),
    ],
)
def test_other_numbers_of_ranks_are_told(cases, told):
    tests = [lost(f"t{i}", 9 - i, case=case) for i, case in enumerate(cases)]
    (cause,) = causes(example.part("p", "P", *tests))
    assert seen_text(cause) == told
