"""The web page: what is on it, and that everybody can read it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import grader
from grader.model.evidence import (
    Budget,
    Deadlock,
    Edge,
    Evidence,
    MarkedLine,
    SourceExcerpt,
    Timeline,
    WaitingRank,
)
from grader.model.report import Verdict
from grader.report import html
from grader.report.html.findings import short_number
from grader.report.html.page import environment
from grader.report.html.pictures import Circle, bytes_text, ring_of
from grader.report.words import VERDICT_WORDS

from .example import every_verdict, full_marks, part, seen, usual

STYLE = environment().globals["style"]
PALETTES = [
    dict(re.findall(r"--(\w+):(#\w{6})", rule)) for rule in re.findall(r":root\{([^}]+)\}", STYLE)
]


def drawn(template, macro, *values):
    """Return what a macro of a template of reports makes."""
    made = environment().get_template(f"report/html/{template}.html")
    return getattr(made.module, macro)(*values)


def traffic(evidence):
    return drawn("ranks", "traffic", evidence)


def waits(evidence):
    return drawn("ranks", "waits", evidence)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", PALETTES, ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["back", "raised"])
def test_every_text_colour_has_the_contrast_of_wcag_aa(palette, ground):
    """4.5 to 1 for text, 3 to 1 for lines of drawings."""
    assert len(palette) == 12
    for name in set(palette) - {"back", "raised"}:
        least = 3.0 if name == "line" else 4.5
        assert contrast(palette[name], palette[ground]) >= least, name


def test_every_part_verdict_and_price_is_on_the_page():
    """The costliest cause is the first section; a part that holds is a row of the table."""
    page = html.render(every_verdict())
    for shown in every_verdict().parts:
        assert drawn("parts", "breakable", shown.name) in page
        for test in shown.tests:
            assert VERDICT_WORDS[test.verdict] in page
    assert re.search('<section id="cause-1" class="loss is-doubt".*?costs 30 of 30 points', page)
    assert "0 of 6 " in page
    assert "all checks passed" in html.render(full_marks())


def test_all_kinds_of_evidence_are_on_the_page():
    part = usual().parts[2]
    tests = (replace(part.tests[0], evidence=seen()), *part.tests[1:])
    page = html.render(replace(usual(), parts=(replace(part, tests=tests),)))
    for title in (
        "The deadlock: who waits for whom",
        "Expected against actual",
        "Against the budget",
        "Your lines",
        "Timeline of the ranks",
    ):
        assert f"<figcaption>{title}</figcaption>" in page
    # Of a deadlock nothing is drawn that says as much as who waits for whom.
    assert "Who sent how much to whom" not in page
    assert "Cycle: 0 → 3 → 2 → 0." in page
    assert "A ring: 0 → 1 → 2 → 3 → 0." in traffic(seen())
    assert "Of 28 calls, the last 16 are shown." in page
    assert "Of 4 messages, the last is shown." in page
    assert "12 of 13 elements differ; the first of them" in page
    assert "Last completed exchange: rank 3 to rank 0, 96 B, tag 7" in page
    figures = page.split("<figure")[1:]
    assert all("<table" in each for each in figures), "a picture without its table"
    assert "<u>comm.Recv</u>" in page


@pytest.mark.parametrize(
    ("num_left_out", "told"),
    [
        (0, "No message between ranks is known to have arrived in this case."),
        (1, "1 message between ranks had arrived before"),
        (9, "9 messages between ranks had arrived before"),
    ],
)
def test_a_deadlock_does_not_deny_messages_that_are_left_out(num_left_out, told):
    timeline = Timeline(seen().timeline.spans, (), 12, num_left_out)
    shown = waits(replace(seen(), timeline=timeline))
    assert told in shown and "the last message that arrived" not in shown


def test_what_holds_is_folded_with_how_the_ranks_communicated():
    """Once a part: with full marks a line for each has to do."""
    won = replace(usual().parts[1].tests[0], evidence=seen())
    page = html.render(replace(usual(), parts=(part("naive", "Naive", won),)))
    summary = "<details><summary>naive: 1 check passed (8 points)</summary>"
    assert summary in page
    assert page.count("Timeline of the ranks") == 1


def test_one_cause_has_one_set_of_pictures():
    """Two checks that failed of the same show it once."""
    ring = usual().parts[2]
    tests = tuple(replace(test, evidence=seen()) for test in ring.tests)
    page = html.render(replace(usual(), parts=(replace(ring, tests=tests),)))
    assert page.count("Timeline of the ranks") == 1


def test_whose_numbers_are_in_an_element_is_told_beside_it():
    shown = drawn("findings", "differences", seen().differences)
    assert "the first of them; in the first: it lacks the contribution of rank 1" in shown


def test_what_is_told_already_is_not_repeated_beside_a_line():
    lines = (MarkedLine(3, "x", "rank 0 waits"), MarkedLine(4, "x", "rank 1 sends"))
    for told, beside in (
        ("", ["rank 0 waits", "rank 1 sends"]),
        ("so rank 0 waits.", ["rank 1 sends"]),
    ):
        shown = drawn("findings", "excerpts", [SourceExcerpt("ring.py", lines)], told)
        assert re.findall("▲ ([^<]*)", shown) == beside


def waiting(*pairs, cycle=(), gone=()):
    waiting = tuple(WaitingRank(rank, "waits", "Recv", "", (other,)) for rank, other in pairs)
    return replace(seen(), deadlock=Deadlock(waiting, gone, cycle))


@pytest.mark.parametrize(
    ("evidence", "key"),
    [
        (waiting((0, 1), (1, 0), cycle=(0, 1)), "thick: the cycle; dotted"),
        (
            waiting((0, 1), (1, 0), (2, 0), cycle=(0, 1)),
            "thick: the cycle; dashed: waits for, outs",
        ),
        (
            waiting((0, 1), gone=(1,)),
            "dashed: waits for; dotted: the last message that arrived; a d",
        ),
    ],
)
def test_the_key_of_a_deadlock_has_the_signs_that_are_drawn(evidence, key):
    assert f">{key}" in waits(evidence)


def test_a_rank_that_waits_for_itself_has_an_arrow():
    shown = waits(waiting((1, 1), cycle=(1,)))
    assert shown.count('class="edge cycle"') == 1


def test_no_arrow_covers_another_of_the_same_way():
    """The last message may go where a rank waits."""
    paths = re.findall(' d="(M[^"]*)"', waits(waiting((3, 0), cycle=())))
    assert len(paths) == len(set(paths)) == 2


@pytest.mark.parametrize("num_ranks", [2, 3, 8, 16, 32])
def test_arrows_of_a_ring_lead_from_rank_to_rank(num_ranks):
    """Each begins nearer to its source and ends nearer to its destination, with room between."""
    circle = Circle(tuple(range(num_ranks)))
    for rank in circle.ranks:
        other = (rank + 1) % num_ranks
        path = circle.arrow(rank, other, "send").path
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", path)]
        begin, end = complex(*numbers[:2]), complex(*numbers[-2:])
        assert abs(begin - circle.centre(rank)) < abs(end - circle.centre(rank))
        assert abs(end - circle.centre(other)) < abs(begin - circle.centre(other))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0.0, "0"), (0.0153, "0.0153"), (12.345, "12.3"), (1935.4, "1935"), (2e7, "20000000")),
        *((999.7, "1000"), (0.0000153, "0.0000153"), (float("inf"), "inf")),
    ],
)
def test_numbers_have_no_exponent(number, text):
    assert short_number(number) == text


def test_a_name_is_broken_after_its_underscores_alone():
    assert drawn("parts", "breakable", "a_<b>_c") == "a_<wbr>&lt;b&gt;_<wbr>c"
    assert drawn("parts", "breakable", "ring") == "ring"


def test_bars_of_one_unit_share_a_scale_and_others_do_not():
    found = (
        Budget("sent", 1e6, 4e6, "bytes"),
        Budget("received", 4e6, 4e6, "bytes"),
        Budget("time", 0.5, 1.0, "s"),
    )
    shown = drawn("findings", "budgets", found)
    assert re.findall(r'<rect x="0" y="4"\swidth="([\d.]+)%"', shown) == ["24", "96", "48"]


def test_no_two_things_have_one_name():
    """Buttons of one name would zoom each other's timeline."""
    parts = tuple(
        replace(part, tests=tuple(replace(test, evidence=seen()) for test in part.tests))
        for part in every_verdict().parts
    )
    page = html.render(replace(every_verdict(), parts=parts))
    names = re.findall(r' id="([^"]*)"', page)
    assert len(names) == len(set(names))
    assert set(re.findall(r' for="([^"]*)"', page)) <= set(names)


def test_the_style_is_the_one_that_the_policy_allows_and_there_is_no_script():
    page = html.render(usual())
    assert "<script" not in page
    assert "default-src 'none'; style-src 'sha256-" in page
    assert " style=" not in page
    assert f"<style>{STYLE}</style>" in page and "<" not in STYLE


def test_a_template_escapes_texts_and_attributes_and_shows_what_is_hidden():
    made = environment().from_string('<p title="{{ text }}">{{ text }}</p>')
    escaped = "&#34;&lt;b&gt;&amp;\\x0a\\u202e"
    assert made.render(text='"<b>&\n\u202e') == f'<p title="{escaped}">{escaped}</p>'
    with pytest.raises(UndefinedError):
        made.render()


def test_no_template_gets_past_the_escape():
    """Text beside markup, in an operator or a filter, would be markup with hidden characters."""
    for file in Path(grader.__file__).parent.rglob("*.html"):
        code = "".join(re.findall(r"\{[{%].*?[}%]\}", file.read_text(), re.DOTALL))
        assert not re.search(
            r"~|\|\s*(safe|e|escape|forceescape|xmlattr|replace|format)\b", code
        ), file
        assert "autoescape" not in code, file


@pytest.mark.parametrize(
    ("edges", "ring"),
    [
        ([(0, 1), (1, 2), (2, 0)], (0, 1, 2)),
        ([(0, 2), (2, 1), (1, 0)], (0, 2, 1)),
        ([(0, 1), (1, 0)], ()),
        ([(0, 1), (1, 2)], ()),
        ([(0, 1), (1, 2), (2, 1)], ()),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], ()),
        ([(0, 1), (1, 2), (2, 0), (0, 2)], ()),
    ],
)
def test_a_ring_is_one_cycle_in_which_each_sends_to_one(edges, ring):
    assert ring_of(edges) == ring


def test_labels_are_left_out_where_they_would_meet():
    """Between two ranks that send to each other there is room for both only where they are two."""
    two = tuple(Edge(rank, 1 - rank, 1, 96) for rank in range(2))
    three = tuple(Edge(a, b, 1, 96) for a in range(3) for b in range(3) if a != b)
    assert traffic(Evidence("", 2, edges=two)).count(">96 B</text>") == 2
    assert traffic(Evidence("", 3, edges=three)).count(">96 B</text>") == 0


def test_arrows_are_thin_where_there_are_many():
    everybody = tuple(Edge(a, b, 1, 96) for a in range(16) for b in range(16) if a != b)
    ring = tuple(Edge(rank, (rank + 1) % 4, 1, 96) for rank in range(4))
    for edges, num_ranks, width in ((everybody, 16, "1"), (ring, 4, "6")):
        shown = traffic(Evidence("", num_ranks, edges=edges))
        assert set(re.findall(r'class="edge send" stroke-width="([\d.]+)"', shown)) == {width}


def test_many_ranks_have_a_table_without_a_picture():
    edges = tuple(Edge(rank, (rank + 1) % 64, 1, 8) for rank in range(64))
    shown = traffic(Evidence("", 64, edges=edges))
    assert "<svg" not in shown
    assert "rank 63" in shown


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1920, "1.92 kB"), (999_999, "1 MB"), (4_200_000, "4.2 MB")],
)
def test_bytes_are_written_short(num_bytes, text):
    assert bytes_text(num_bytes) == text


def test_a_failure_that_costs_nothing_is_not_full_marks():
    """As in a part that is worth no points."""
    report = full_marks()
    wrong = replace(report.parts[0], verdict=Verdict.WRONG_ANSWER)
    assert "all checks passed" not in html.render(replace(report, parts=(*report.parts, wrong)))
