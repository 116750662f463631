"""The race: full points only, one place for equal figures, and nobody by name."""

import csv
from dataclasses import replace

import pytest

from grader.evidence import Edge, Evidence, Message, Timeline
from grader.model import Verdict
from grader.report import leaderboard
from grader.report.leaderboard import BYTES_PER_S, LATENCY_S, entries, modelled_s

from . import example


def ring(num_ranks: int, num_bytes: int) -> Evidence:
    """Return a round in which each rank sends to the next at once."""
    messages = tuple(
        Message(rank, (rank + 1) % num_ranks, 0.0, 1.0, num_bytes, 0, "")
        for rank in range(num_ranks)
    )
    edges = tuple(Edge(each.source, each.destination, 1, num_bytes) for each in messages)
    return Evidence("4 ranks, length 13", num_ranks, edges, Timeline((), messages))


def submitted(digest: str, num_bytes: int, verdict: Verdict = Verdict.ACCEPTED, **more: object):
    test = replace(
        example.passed("test_a", "It is right.", 2),
        verdict=verdict,
        points=2 if verdict is Verdict.ACCEPTED else 0,
        evidence=ring(4, num_bytes),
    )
    part = example.part("ring", "A ring", test)
    report = replace(example.usual(), parts=(part,), submission_digest=digest * 32, **more)
    return replace(report, submission="students/ada_lovelace")


def test_the_fewest_bytes_come_first_and_equals_share_a_place():
    found = entries([submitted("bb", 200), submitted("aa", 100), submitted("cc", 200)])
    lines = list(csv.DictReader(leaderboard.render_csv(found).splitlines()))
    assert [(line["place"], line["submission"], line["num_bytes"]) for line in lines] == [
        ("1", "aaaaaaaa", "400"),
        ("2", "bbbbbbbb", "800"),
        ("2", "cccccccc", "800"),
    ]
    assert leaderboard.render_markdown(found).count("\n") == 4


def test_nobody_is_there_by_name():
    found = entries([submitted("aa", 100)])
    assert "ada" not in leaderboard.render_csv(found) + leaderboard.render_markdown(found)


@pytest.mark.parametrize(
    "verdict", [Verdict.WRONG_ANSWER, Verdict.NOT_PROVEN, Verdict.JUDGE_ERROR, Verdict.DEADLOCK]
)
def test_only_full_points_take_part(verdict):
    assert entries([submitted("aa", 100, verdict)]) == []


def test_a_doubt_elsewhere_keeps_a_submission_out():
    report = submitted("aa", 100)
    doubtful = submitted("aa", 1, Verdict.NOT_PROVEN).parts[0]
    assert entries([replace(report, parts=(*report.parts, doubtful))]) == []


def test_a_submission_is_there_once():
    assert len(entries([submitted("aa", 100), submitted("aa", 100)])) == 1


def test_without_all_messages_there_is_no_figure():
    report = submitted("aa", 100)
    part = report.parts[0]
    seen = part.tests[0].evidence
    cut = replace(seen, timeline=replace(seen.timeline, num_messages_left_out=1))
    tests = (replace(part.tests[0], evidence=cut),)
    assert entries([replace(report, parts=(replace(part, tests=tests),))]) == []


def test_messages_at_once_take_the_time_of_one():
    one = 1000 / BYTES_PER_S + LATENCY_S
    assert modelled_s(ring(8, 1000).timeline.messages) == pytest.approx(one)


def test_what_waits_for_another_takes_its_time_as_well():
    """A chain of ranks, and a rank that sends twice."""
    chain = [Message(rank, rank + 1, 2.0 * rank, 2.0 * rank + 1, 1000, 0, "") for rank in range(3)]
    one = 1000 / BYTES_PER_S + LATENCY_S
    assert modelled_s(chain) == pytest.approx(3 * one)
    twice = [Message(0, rank, 0.1 * rank, 1.0, 1000, 0, "") for rank in (1, 2)]
    assert modelled_s(twice) == pytest.approx(2000 / BYTES_PER_S + LATENCY_S)
    assert modelled_s([]) == 0
