"""Charts and tables: their CSV, captions, pictures, and the page around them."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from PIL import Image

from grader.study.draw import draw
from grader.study.figures import Chart, Dot, Series, Table, csv_text
from grader.study.page import caption, is_empty, page
from grader.study.plan import Point
from grader.study.results import Machine, Measurement, Results, Spread

MACHINE = Machine(2, "a processor", {"Python": "3.11"})
MEASURED = Series("ring", (Dot(1, 2.0, 1.5, 2.5), Dot(4, 3.0, 3.0, 3.0, True)))
MODELLED = Series("ring, modelled", (Dot.exact(1, 2.0), Dot.exact(4, 0.5)), is_modelled=True)


def chart(*series, **others):
    return Chart("time", "Run time", "ranks", "time (s)", series, "632 steps.", **others)


TABLE = Table("all", "All runs", ("run", "time (s)"), (("a, b", 1.23456), ("c", None)), "Two runs.")


def test_the_csv_of_a_chart_has_every_mark_and_its_kind():
    assert csv_text(chart(MEASURED, MODELLED)) == (
        "series,ranks,time (s),least,most,kind\n"
        "ring,1,2.0,1.5,2.5,measured\n"
        "ring,4,3.0,3.0,3.0,measured with more ranks than cores\n"
        '"ring, modelled",1,2.0,2.0,2.0,modelled\n'
        '"ring, modelled",4,0.5,0.5,0.5,modelled\n'
    )


def test_the_csv_of_a_table():
    assert csv_text(TABLE) == 'run,time (s)\n"a, b",1.23456\nc,\n'


def test_a_caption_says_on_how_many_cores_and_what_marks_mean():
    assert caption(chart(MEASURED, MODELLED), MACHINE) == (
        "632 steps. Measured on 2 cores (a processor). Marks are medians of several runs; thin "
        "lines show their range. Hollow marks are runs with more ranks than cores, so their "
        "times say little about any machine. Broken lines are modelled, not measured."
    )
    plain = chart(Series("ring", (Dot.exact(1, 2.0),)), Series("ring, modelled", (), True))
    assert caption(plain, MACHINE) == "632 steps. Measured on 2 cores (a processor)."
    bars = caption(chart(MEASURED, MODELLED, is_bars=True), MACHINE)
    assert "Hollow bars are runs with " in bars and "Pale, hatched bars are modelled" in bars
    assert caption(TABLE, Machine(1, "p", {})) == "Two runs. Measured on 1 core (p)."


def test_a_table_of_formulas_alone_is_not_called_measured():
    assert caption(replace(TABLE, is_measured=False), MACHINE) == "Two runs."


def test_numbers_at_a_logarithmic_axis_are_written_out(tmp_path):
    few = Series("ring", tuple(Dot.exact(x, 0.2 + x / 10) for x in range(1, 9)))
    draw(chart(few, is_log_y=True), "", str(tmp_path / "figure"))
    texts = list(ET.parse(tmp_path / "figure.svg").getroot().itertext())
    assert "0.3" in texts and not [each for each in texts if "e" in each and "0" in each]


def test_a_million_is_written_out(tmp_path):
    many = Series("ring", (Dot.exact(1, 10.0), Dot.exact(2, 5e6)))
    draw(chart(many, is_log_y=True), "", str(tmp_path / "figure"))
    texts = list(ET.parse(tmp_path / "figure.svg").getroot().itertext())
    assert "1,000,000" in texts and "100" in texts


def test_a_chart_without_anything_measured_is_empty():
    assert is_empty(chart(MODELLED)) and is_empty(chart(Series("ring", ())))
    assert not is_empty(chart(MODELLED, MEASURED)) and not is_empty(TABLE)


MANY = [
    Series(f"series {i}", (Dot("a", 1.0 + i, 0.5 + i, 2.0 + i), Dot("b", 2.0, 2.0, 2.0, True)))
    for i in range(10)
]


NOT_FINITE = Series("lost", (Dot(1, 2.0, 1.0, 3.0), *(Dot.exact(x, math.nan) for x in range(2, 9))))


def test_what_is_no_finite_number_has_no_mark_and_is_told():
    drawn = chart(NOT_FINITE, Series("all", (Dot.exact("a", math.inf),)), MEASURED).finite()
    assert [len(each.dots) for each in drawn.series] == [1, 0, 2]
    assert "nan" not in csv_text(drawn) and "inf" not in csv_text(drawn)
    assert drawn.caption == (
        "632 steps. Not drawn (no finite number): lost at 2, 3, 4, 5, 6, and 2 more; all at a."
    )
    assert chart(MEASURED).finite() == chart(MEASURED)


@pytest.mark.parametrize("others", [{}, {"is_bars": True}, {"is_log_y": True}, {"is_share": True}])
def test_a_chart_of_nothing_finite_is_drawn_all_the_same(others, tmp_path):
    nothing = chart(Series("all", (Dot.exact(1, math.nan),)), MODELLED, **others)
    assert not is_empty(nothing)
    draw(nothing.finite(), "", str(tmp_path / "figure"))
    draw(chart(Series("all", ()), **others), "", str(tmp_path / "none"))


def test_a_cell_that_is_no_finite_number_says_so():
    table = Table("all", "All", ("run", "loss"), (("a", math.nan), ("b", math.inf)), "")
    drawn = [(table, "")]
    text = page("Study of it", "the reference", drawn, [], Results({}, MACHINE, {}), [])
    assert "| a | no finite number |" in text and "| b | no finite number |" in text


@pytest.mark.parametrize(
    "figure",
    [
        chart(MEASURED, MODELLED),
        chart(MEASURED, MODELLED, is_log_x=True, is_log_y=True, x_ticks=(1, 2, 4)),
        chart(*MANY, is_bars=True),
        chart(*MANY, is_bars=True, is_stacked=True),
        chart(MEASURED, is_share=True),
        TABLE,
    ],
    ids=["lines", "log", "bars", "stacked", "share", "table"],
)
def test_every_figure_is_an_svg_of_texts_and_a_png(figure, tmp_path):
    said = caption(figure, MACHINE)
    draw(figure, said, str(tmp_path / "figure"))
    texts = " ".join(ET.parse(tmp_path / "figure.svg").getroot().itertext())
    assert figure.title in texts and said[:30] in texts
    if isinstance(figure, Chart):
        assert all(each.label in texts for each in figure.series if len(figure.series) > 1)
        assert figure.x_label in texts and figure.y_label in texts
    with Image.open(tmp_path / "figure.png") as picture:
        assert picture.width > 900 and len(picture.convert("L").getcolors(256)) > 4


@pytest.mark.parametrize("others", [{}, {"is_bars": True}])
def test_a_series_that_is_alone_has_its_name(others, tmp_path):
    """The others of the chart were not measured: which one is it?"""
    draw(chart(MEASURED, Series("naive", ()), **others), "", str(tmp_path / "figure"))
    texts = list(ET.parse(tmp_path / "figure.svg").getroot().itertext())
    assert "ring" in texts and "naive" not in texts


def test_names_of_bars_do_not_reach_each_other(tmp_path):
    """The more bars, the narrower their names; in the data each is one line."""
    words = ["FedAvg, non-iid, 4 local epochs", *map(str, range(6))]
    many = Series("accuracy", tuple(Dot.exact(word, 1.0) for word in words))
    draw(chart(many, is_bars=True), "", str(tmp_path / "figure"))
    texts = list(ET.parse(tmp_path / "figure.svg").getroot().itertext())
    lines = [each for each in texts if each and each in words[0] and len(each) > 1]
    assert " ".join(lines) == words[0]
    assert max(map(len, lines)) <= 11


def test_a_model_has_the_colour_of_what_it_is_a_model_of(tmp_path):
    """However many series are between them; one that is a model of none has its own."""
    two = (Dot.exact(1, 1.0), Dot.exact(2, 2.0))
    lines = [
        *(Series("ring", two), Series("naive", two)),
        *(Series("naive, modelled", two, True), Series("ideal", two, True)),
    ]
    draw(chart(*lines), "", str(tmp_path / "figure"))
    drawn = (tmp_path / "figure.svg").read_text().lower()
    colours = [drawn.count(f"stroke: {each}") for each in ("#0072b2", "#d55e00", "#009e73")]
    assert colours[0] and colours[1] > colours[0] and not colours[2]
    assert "#cc79a7" in drawn


def test_the_same_figure_is_the_same_file(tmp_path):
    for name in ("a", "b"):
        draw(chart(MEASURED), "A caption.", str(tmp_path / name))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_page_has_figures_captions_reasons_and_the_machine():
    results = Results({}, MACHINE, {"ring, 4 ranks": "crashed: ValueError: <b>|x|</b>"})
    points = [Point("ring, 4 ranks", "ring", "program.py")]
    drawn = [(chart(MEASURED), "A caption."), (TABLE, "Another.")]
    text = page("Study of it", "the reference", drawn, ["All is *well*."], results, points)
    assert "![Run time](time.svg)" in text and "[PNG](time.png), [data](time.csv)" in text
    assert "- All is \\*well\\*." in text
    assert "| a, b | 1.235 |" in text and "| c | - |" in text
    assert "| ring, 4 ranks | crashed: ValueError: \\<b\\>\\|x\\|\\</b\\> |" in text
    assert "Runs that failed" not in text
    assert "| available cores | 2 |" in text and "| Python | 3.11 |" in text


def test_what_went_wrong_is_found_on_top_and_not_what_was_not_handed_in():
    """No figure shows it: who reads the page from its top would take it for not tried."""
    runs = {
        "ring, 2 ranks": "gave a wrong result: 3",
        "ring, 4 ranks": "gave a wrong result: 3",
        "naive, 2 ranks": "my_naive.py was not handed in",
    }
    measured = {name: [Measurement(name, 0, (), why)] for name, why in runs.items()}
    left_out = {"async": "the time of this study was up"}
    points = [Point(name, name, "program.py") for name in (*runs, *left_out)]
    text = page("Study", "it", [], ["All is well."], Results(measured, MACHINE, left_out), points)
    found = text.partition("## What was found")[2].partition("##")[0].split("\n")
    assert [each for each in found if each] == [
        "- All is well.",
        "- ring, 2 ranks and 1 more: gave a wrong result: 3",
    ]


def test_a_table_is_beside_each_chart_and_says_what_it_leaves_out(tmp_path):
    long = replace(TABLE, rows=tuple((f"run {i}", float(i)) for i in range(61)))
    many = chart(Series("ring <b>", tuple(Dot.exact(x, 1.0) for x in range(62))))
    drawn = [(many, ""), (long, "")]
    text = page("Study of it", "it", drawn, [], Results({}, MACHINE, {}), [])
    folded = text.partition("<details>")[2].partition("</details>")[0]
    assert "| series | ranks | time (s) | least | most | kind |" in folded
    assert "| ring \\<b\\> | 0 | 1 | 1 | 1 | measured |" in folded
    assert "2 more rows are in the data." in folded
    assert "1 more row is in the data." in text.partition("</details>")[2]
    draw(long, "", str(tmp_path / "figure"))
    assert "21 more in the CSV" in (tmp_path / "figure.svg").read_text()


def test_the_page_tells_runs_that_failed_of_points_with_others():
    runs = [
        Measurement("ring", 0, ({"time_s": 1.0},)),
        Measurement("ring", 1, (), "crashed: ValueError: <b>"),
    ]
    results = Results({"ring": runs}, MACHINE, {}, "MNIST")
    text = page("Study of it", "it", [], [], results, [Point("ring", "ring", "program.py")])
    assert "## Not measured" not in text
    assert "## Runs that failed" in text and "| ring | 2 | crashed: ValueError: \\<b\\> |" in text
    assert "| images | MNIST |" in text


def test_a_series_without_a_mark_is_named_as_missing(tmp_path):
    dots = (Dot.exact(1, 1.0), Dot.exact(2, 2.0))
    chart = Chart("a", "A", "x", "y", (Series("there", dots), Series("gone", ())), "")
    draw(chart, "", str(tmp_path / "lines"))
    assert ">gone: not measured<" in (tmp_path / "lines.svg").read_text()


def test_a_mark_that_is_missing_of_a_series_is_named(tmp_path):
    """In a report the picture stands alone, without the page's list of what is missing."""
    spreads = {1: Spread.of([1.0]), 2: None, 4: Spread.of([2.0]), 8: None}
    ring = Series.measured("ring", spreads, lambda ranks: ranks > 2)
    assert [(dot.x, dot.is_oversubscribed) for dot in ring.dots] == [(1, False), (4, True)]
    draw(chart(ring, MODELLED), "", str(tmp_path / "lines"))
    assert ">ring (2, 8: not measured)<" in (tmp_path / "lines.svg").read_text()


def test_a_number_stands_above_each_bar(tmp_path):
    """Where one bar is high, the heights of the others cannot be told apart."""
    bars = Series("time", (Dot.exact("a", 2.5), Dot.exact("b", 194.0), Dot.exact("c", 2.6)))
    draw(chart(bars, is_bars=True), "", str(tmp_path / "bars"))
    drawn = (tmp_path / "bars.svg").read_text()
    assert all(f">{number}<" in drawn for number in ("2.5", "194", "2.6"))


def test_marks_of_one_run_are_said_to_be():
    for numbers, told in (
        ([[1.0], [2.0]], "Each mark shows"),
        ([[1.0], [1, 2, 3]], "Some marks show"),
    ):
        dots = tuple(Dot.of(x, Spread.of(each)) for x, each in enumerate(numbers))
        chart = Chart("a", "A", "x", "y", (Series("s", dots),), "")
        assert f"{told} a single run" in caption(chart, Machine(2, "p", {}))
    exact = Chart("a", "A", "x", "y", (Series("s", (Dot.exact(1, 1.0),)),), "")
    assert "single run" not in caption(exact, Machine(2, "p", {}))


def test_a_legend_hides_no_mark(tmp_path):
    """Also of two series: within, the best place is still upon a mark."""
    rising = [Series(name, tuple(Dot.exact(x, x) for x in range(9))) for name in ("ring", "tree")]
    draw(chart(*rising), "", str(tmp_path / "figure"))
    below = {
        "".join(each.itertext()): float(each.attrib["y"])
        for each in ET.parse(tmp_path / "figure.svg").iter()
        if each.tag.endswith("text") and "y" in each.attrib
    }
    assert min(below["ring"], below["tree"]) > below["ranks"]
