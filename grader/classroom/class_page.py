"""The page of a class, for its teachers: no names, and nothing that is loaded or run."""

import re
from collections import Counter
from collections.abc import Sequence

from grader.classroom.facts import Cause, Rate, causes, histogram, rates, reports_of
from grader.classroom.pseudonyms import Pseudonyms
from grader.classroom.similarity import Pair
from grader.classroom.standing import Standing
from grader.model import Report
from grader.points import written
from grader.report.html.markup import Child, Markup, element, figure, joined, table
from grader.report.html.whole import whole
from grader.report.safe_text import one_line
from grader.report.words import VERDICT_WORDS

_BAR_WIDTH, _BAR_HEIGHT = 160, 14
_MOST_PAIRS = 50
_MOST_SLOW = 10
_MOST_STUDENTS = 12
_SPACE = Markup("&nbsp;")


def render(
    title: str, standings: Sequence[Standing], names: Pseudonyms, pairs: Sequence[Pair]
) -> str:
    """Return the page. Students are called by their pseudonyms; `pairs` already has them."""
    reports = [(names.of(each.student.id), each, report) for each, report in reports_of(standings)]
    sections = [
        _section("Where the class stands", _statuses(standings), *_scores(standings)),
        _section("For a person", *_for_a_person(standings, names)),
        _section("Which tests hold", _rates(rates([report for *_, report in reports]))),
        _section(
            "What went wrong", _causes(causes([(name, report) for name, _, report in reports]))
        ),
        _section("Nearly the same", _pairs(pairs)),
        _section("Slowest to grade", _slowest(reports)),
    ]
    head = element(
        "header",
        element("h1", one_line(title)),
        element("p", "Students are called by pseudonyms, which the gradebook has.", class_="faint"),
    )
    return whole(one_line(title), head, element("main", *sections))


def _section(title: str, *children: Markup) -> Markup:
    return element("section", element("h2", title), *children)


def _statuses(standings: Sequence[Standing]) -> Markup:
    counts = Counter(each.status for each in standings)
    rows: list[tuple[Child, ...]] = [
        (status, str(number)) for status, number in counts.most_common()
    ]
    return table(f"{len(standings)} students", ("status", "students"), rows)


def _scores(standings: Sequence[Standing]) -> list[Markup]:
    """Return the distribution of what tests and people gave, before rules about lateness."""
    marked = [(each.mark.score, each.mark.max_score) for each in standings if each.mark]
    scores = [score for score, _ in marked if score is not None]
    most = max((maximum for _, maximum in marked), default=0.0)
    if not scores or not most:
        return []
    counts = histogram(scores, most)
    width = most / len(counts)
    rows: list[tuple[Child, ...]] = [
        (
            _unbroken(
                f"{written(round(index * width, 2))} to {written(round((index + 1) * width, 2))}"
            ),
            str(count),
            _bar(count / max(counts)),
        )
        for index, count in enumerate(counts)
    ]
    return [figure("Scores", table("before rules about lateness", ("score", "students", ""), rows))]


def _for_a_person(standings: Sequence[Standing], names: Pseudonyms) -> list[Markup]:
    rows: list[tuple[Child, ...]] = []
    for each in standings:
        if each.counted is not None and each.problem:
            why = _nameless(each).removeprefix(f"{each.status}: ")
            rows.append((names.of(each.student.id), each.status, one_line(why)))
    if not rows:
        return [element("p", "Nobody.")]
    return [table("No mark without a person", ("student", "status", "why"), rows)]


def _nameless(each: Standing) -> str:
    """Return why a person has to look, without names of hand-ins, which tell whose they are."""
    names = {name for work in each.works for name in (work.hand_in.path.name, work.hand_in.label)}
    found = each.problem
    for name in sorted(names, key=len, reverse=True):
        found = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "the hand-in", found)
    return found


def _unbroken(text: str) -> Markup:
    """Return a few words that stay in one line."""
    first, *others = text.split(" ")
    return joined(first, *(joined(_SPACE, other) for other in others))


def _rates(found: Sequence[Rate]) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            one_line(rate.part),
            one_line(rate.sentence),
            _unbroken(f"{rate.num_held} of {rate.num_run}"),
            _bar(rate.num_held / rate.num_run),
        )
        for rate in found
    ]
    return table("Of those who attempted the part", ("part", "test", "hold", ""), rows)


def _causes(found: Sequence[Cause]) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (
            str(len(cause.students)),
            one_line(cause.part),
            VERDICT_WORDS[cause.verdict],
            element("div", one_line(cause.text)),
            _students(cause.students),
        )
        for cause in found
    ]
    return table(
        "Grouped by cause",
        ("students", "part", "verdict", "cause", "who"),
        rows,
    )


def _students(students: Sequence[str]) -> str:
    shown = ", ".join(students[:_MOST_STUDENTS])
    more = len(students) - _MOST_STUDENTS
    return f"{shown} and {more} more" if more > 0 else shown


def _pairs(pairs: Sequence[Pair]) -> Markup:
    if not pairs:
        return element("p", "No two hand-ins, beside what the template gives.")
    rows: list[tuple[Child, ...]] = [
        (pair.first, pair.second, one_line(pair.file), f"{pair.share:.0%}")
        for pair in pairs[:_MOST_PAIRS]
    ]
    more = f"; {_MOST_PAIRS} of {len(pairs)} pairs" if len(pairs) > _MOST_PAIRS else ""
    return table(
        "Tokens in common, beside what the template gives: a reason to look, and no finding" + more,
        ("student", "student", "file", "in common"),
        rows,
    )


def _slowest(reports: Sequence[tuple[str, Standing, Report]]) -> Markup:
    slow = sorted(reports, key=lambda each: -each[2].wall_time_s)[:_MOST_SLOW]
    rows: list[tuple[Child, ...]] = [
        (name, f"{report.wall_time_s:.0f} s", _slowest_part(report)) for name, _, report in slow
    ]
    return table("Time of the whole grading", ("student", "time", "most of it"), rows)


def _slowest_part(report: Report) -> str:
    part = max(report.parts, key=lambda part: part.wall_time_s, default=None)
    return "" if part is None else f"{one_line(part.name)}, {part.wall_time_s:.0f} s"


def _bar(share: float) -> Markup:
    return element(
        "svg",
        element("rect", width=share * _BAR_WIDTH, height=_BAR_HEIGHT, class_="actual"),
        width=_BAR_WIDTH,
        height=_BAR_HEIGHT,
        class_="bar",
        aria_hidden="true",
    )
