"""Renders the pages of a class for its instructors: no names, and nothing that loads or runs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from grader.addons.classroom.class_folder import Pseudonyms
from grader.addons.classroom.similarity import Pair
from grader.addons.classroom.standing import Standing
from grader.model.report import Report, TestResult, Verdict
from grader.report.causes import causes as causes_of
from grader.report.html.page import page
from grader.report.safe_text import one_line

MOST_PAIRS = 50
"""The most alike of the nearly identical pairs are shown."""
_MOST_SLOW = 10
_NO_CAUSE = (Verdict.NOT_ATTEMPTED, Verdict.SKIPPED)


def render(
    title: str, standings: Sequence[Standing], names: Pseudonyms, pairs: Sequence[Pair]
) -> str:
    """Return the page. Students are called by their pseudonyms; `pairs` already has them."""
    reports = [(names.of(each.student.id), report) for each, report in reports_of(standings)]
    slow_first = sorted(reports, key=lambda each: -each[1].wall_time_s)
    return page(
        "addons/classroom/class_page.html",
        one_line(title),
        num_students=len(standings),
        statuses=Counter(each.status for each in standings).most_common(),
        scores=_scores(standings),
        for_a_person=[
            (names.of(each.student.id), each.status, _nameless(each))
            for each in standings
            if each.counted is not None and each.problem
        ],
        rates=rates([report for _, report in reports]),
        found=causes(reports),
        pairs=pairs[:MOST_PAIRS],
        num_pairs=len(pairs),
        slowest=[
            (name, report, max(report.parts, key=lambda part: part.wall_time_s, default=None))
            for name, report in slow_first[:_MOST_SLOW]
        ],
    )


def render_pair(pair: Pair) -> str:
    """Return the page of two hand-ins, side by side."""
    title = f"{' and '.join(pair.students)}: {one_line(pair.file)}"
    return page("addons/classroom/pair_page.html", title, pair=pair)


def _scores(standings: Sequence[Standing]) -> list[tuple[float, float, int, float]]:
    """Return the distribution of scores from tests and people, before deductions for lateness.

    For each tenth of the maximum: from, to, the number of scores, and its share of the largest.
    """
    marked = [(each.mark.score, each.mark.max_score) for each in standings if each.mark]
    scores = [score for score, _ in marked if score is not None]
    most = max((maximum for _, maximum in marked), default=0.0)
    if not scores or not most:
        return []
    counts = histogram(scores, most)
    limits = [round(most / len(counts) * index, 2) for index in range(len(counts) + 1)]
    shares = [count / max(counts) for count in counts]
    return list(zip(limits, limits[1:], counts, shares, strict=False))


def _nameless(each: Standing) -> str:
    """Return why the instructor must decide, without names of hand-ins, which reveal authors."""
    names = {name for work in each.works for name in (work.hand_in.path.name, work.hand_in.label)}
    found = each.problem
    for name in sorted(names, key=len, reverse=True):
        found = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "the hand-in", found)
    return found.removeprefix(f"{each.status}: ")


def histogram(scores: Sequence[float], max_score: float) -> list[int]:
    """Return how many scores lie in each tenth of `max_score`; the full one in the last."""
    counts = [0] * 10
    for score in scores:
        counts[min(9, int(score / max_score * 10))] += 1
    return counts


def reports_of(standings: Iterable[Standing]) -> list[tuple[Standing, Report]]:
    """Return the reports that count, with their students; a group's only once."""
    found: dict[tuple[str, str], tuple[Standing, Report]] = {}
    for each in standings:
        if each.report is not None:
            found.setdefault(each.identity, (each, each.report))
    return list(found.values())


def rates(reports: Sequence[Report]) -> list[tuple[str, str, int, int]]:
    """Return for each test its part, its sentence, how many passed it, and how many ran it.

    Hand-ins that do not attempt a part do not count. The order is that of the reports.
    """
    runs: dict[tuple[str, str], list[TestResult]] = defaultdict(list)
    for report in reports:
        for part in report.parts:
            if part.verdict is not Verdict.NOT_ATTEMPTED:
                for test in part.tests:
                    runs[part.name, test.name].append(test)
    return [
        (
            part,
            tests[0].sentence,
            sum(each.verdict is Verdict.ACCEPTED for each in tests),
            len(tests),
        )
        for (part, _), tests in runs.items()
    ]


def causes(reports: Sequence[tuple[str, Report]]) -> list[tuple[list[str], str, Verdict, str]]:
    """Return who lost points, in which part, with which verdict, and why; the most common first.

    reports: with pseudonyms. A part counts once, by its most expensive cause. Why: in the words of
    the first student's report.
    """
    groups: dict[tuple[str, Verdict, str], list[tuple[str, str]]] = defaultdict(list)
    for student, report in reports:
        for part in report.parts:
            costliest = next(iter(causes_of(part)), None)
            if costliest is not None and costliest.verdict not in _NO_CAUSE:
                first = costliest.findings[0]
                # One key stands for all exceptions of a type, and for all functions of MPI.
                facts = [str(first.facts.get(each, "")) for each in ("name", "message", "call")]
                about = " ".join((first.key, *facts)) if first.key else first.text
                groups[part.name, costliest.verdict, about].append((student, first.text))
    found = [
        ([student for student, _ in cases], part, verdict, cases[0][1])
        for (part, verdict, _), cases in groups.items()
    ]
    return sorted(found, key=lambda cause: (-len(cause[0]), cause[1], cause[3]))
