"""The web page: what is on it, and that everybody can read it."""

import re
from dataclasses import replace

import pytest

from grader.evidence import Budget, Edge, Evidence, Timeline
from grader.report import html
from grader.report.html.circle import ring_of
from grader.report.html.communication import bytes_text, communication
from grader.report.html.deadlock import deadlock
from grader.report.html.findings import budgets
from grader.report.html.markup import element, raw
from grader.report.html.style import DARK, LIGHT

from .example import every_verdict, full_marks, part, seen, usual


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["back", "raised"])
def test_every_text_colour_has_the_contrast_of_wcag_aa(palette, ground):
    """4.5 to 1 for text, 3 to 1 for lines of drawings."""
    for name in set(palette) - {"back", "raised"}:
        least = 3.0 if name == "line" else 4.5
        assert contrast(palette[name], palette[ground]) >= least, name


def test_every_part_verdict_and_price_is_on_the_page():
    page = html.render(every_verdict())
    for number, shown in enumerate(every_verdict().parts, 1):
        assert f'<section id="part-{number}"' in page
        assert f'href="#part-{number}"' in page
        for test in shown.tests:
            assert test.verdict.value in page
    assert "-6 points " in page
    assert "Score" in html.render(full_marks())


def test_all_kinds_of_evidence_are_on_the_page():
    part = usual().parts[2]
    tests = (replace(part.tests[0], evidence=seen()), *part.tests[1:])
    page = html.render(replace(usual(), parts=(replace(part, tests=tests),)))
    for title in (
        "The deadlock: who waits for whom",
        "Expected against actual",
        "Against the budget",
        "Your lines",
        "Who sent how much to whom",
        "Timeline of the ranks",
    ):
        assert f"<figcaption>{title}</figcaption>" in page
    assert "Cycle: 0 → 3 → 2 → 0." in page
    assert "A ring: 0 → 1 → 2 → 3 → 0." in page
    assert "Of 28 calls the last 16 are shown." in page
    assert "Of 4 messages the last is shown." in page
    assert "12 of 13 elements differ; the first of them" in page
    assert "The last exchange that was completed: rank 3 to rank 0, 96 B, tag 7" in page
    figures = page.split("<figure")[1:]
    assert all("<table" in each for each in figures), "a picture without its table"


@pytest.mark.parametrize(
    ("num_left_out", "told"),
    [
        (0, "No message between ranks is known to have arrived in this case."),
        (1, "1 message between ranks had arrived, all of them before"),
        (9, "9 messages between ranks had arrived, all of them before"),
    ],
)
def test_a_deadlock_does_not_deny_messages_that_are_left_out(num_left_out, told):
    timeline = Timeline(seen().timeline.spans, (), 12, num_left_out)
    shown = deadlock(replace(seen(), timeline=timeline))
    assert told in shown and "the last message that arrived" not in shown


def test_what_holds_is_open_where_nothing_was_lost():
    """Beside a loss it is folded: that comes first."""
    summary = "<summary>How your ranks communicated where a test holds</summary>"
    won, lost = usual().parts[1].tests[0], usual().parts[0].tests[0]
    won = replace(won, evidence=seen())
    for tests, is_open in (((won,), True), ((lost, won), False)):
        page = html.render(replace(usual(), parts=(part("naive", "Naive", *tests),)))
        assert f"<details{' open' if is_open else ''}>{summary}" in page


def test_bars_of_one_unit_share_a_scale_and_others_do_not():
    found = (
        Budget("sent", 1e6, 4e6, "bytes"),
        Budget("received", 4e6, 4e6, "bytes"),
        Budget("time", 0.5, 1.0, "s"),
    )
    shown = budgets(Evidence("", 4, budgets=found))
    widths = re.findall(r'<rect x="0" y="20" width="([\d.]+)%"', shown)
    assert widths == ["24.00", "96.00", "48.00"]


def test_the_style_is_the_one_that_the_policy_allows_and_there_is_no_script():
    page = html.render(usual())
    assert "<script" not in page
    assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in page
    assert " style=" not in page


def test_an_element_escapes_children_and_attributes():
    assert (
        element("p", "<b>&", aria_label='"x"') == '<p aria-label="&quot;x&quot;">&lt;b&gt;&amp;</p>'
    )
    assert element("p", element("b", "x"), None, hidden=None) == "<p><b>x</b></p>"
    with pytest.raises(ValueError, match="style"):
        raw("style", "a{}</style>")


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


def test_many_ranks_have_a_table_without_a_picture():
    edges = tuple(Edge(rank, (rank + 1) % 64, 1, 8) for rank in range(64))
    shown = communication(Evidence("", 64, edges=edges))
    assert "<svg" not in shown
    assert "rank 63" in shown


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1920, "1.92 kB"), (999_999, "1 MB"), (4_200_000, "4.2 MB")],
)
def test_bytes_are_written_short(num_bytes, text):
    assert bytes_text(num_bytes) == text
