"""The page of a class, for its teachers: no names, and nothing that is loaded or run."""

import re
from collections import Counter
from collections.abc import Sequence

from grader.addons.classroom.facts import causes, histogram, rates, reports_of
from grader.addons.classroom.pseudonyms import Pseudonyms
from grader.addons.classroom.similarity import Pair
from grader.addons.classroom.standing import Standing
from grader.report.html.page import page
from grader.report.safe_text import one_line

MOST_PAIRS = 50
"""Of hand-ins that are nearly the same, the most alike."""
_MOST_SLOW = 10


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
    """Return the distribution of what tests and people gave, before rules about lateness.

    For each tenth of what can be reached: from, to, how many, and their share of the most.
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
    """Return why a person has to look, without names of hand-ins, which tell whose they are."""
    names = {name for work in each.works for name in (work.hand_in.path.name, work.hand_in.label)}
    found = each.problem
    for name in sorted(names, key=len, reverse=True):
        found = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "the hand-in", found)
    return found.removeprefix(f"{each.status}: ")
