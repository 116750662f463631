"""The page in a real browser: it shows everything, loads nothing, runs nothing."""

from dataclasses import replace

import pytest
from class_samples import NAMES, grading, part, standing, test_result
from class_samples import report as report_of_a_class

from grader.addons.classroom import class_page
from grader.commands.cell_check import CellCheck
from grader.model.report import Verdict
from grader.report import html

from . import browser, hostile
from .example import every_verdict, seen

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def report_with_pictures():
    report = every_verdict()
    parts = tuple(
        replace(part, tests=tuple(replace(test, evidence=seen()) for test in part.tests))
        for part in report.parts
    )
    return replace(report, parts=parts)


def opened(chromium, file, text):
    file.write_text(text)
    chromium.open(file.as_uri())
    return chromium


OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
MAIN = '<main id="main">'
OVERFLOWING = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_nothing_is_asked_for(
    chromium, tmp_path, width, scheme
):
    file = tmp_path / "report.html"
    page = opened(chromium, file, html.render(report_with_pictures()))
    page.show(width, scheme)
    assert page.evaluate(OVERFLOWING) <= 0
    page.evaluate(OPEN_ALL)
    assert page.evaluate(OVERFLOWING) <= 0
    assert page.errors == []
    assert page.requests == [file.as_uri()]
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_lines_of_a_traceback_are_below_each_other(chromium, tmp_path):
    page = opened(chromium, tmp_path / "report.html", html.render(report_with_pictures()))
    page.show(1200)
    page.evaluate(OPEN_ALL)
    tops = "[...document.querySelectorAll('pre code')].map(each => each.offsetTop)"
    found = page.evaluate(tops)
    assert len(found) > 1 and len(set(found)) == len(found)


@pytest.mark.parametrize(
    "injected",
    [
        "<script>document.title='owned'</script>",
        "<img src=x onerror=\"document.title='owned'\">",
        "<p style='color:red' id=styled>x</p><style>body{display:none}</style>",
        "<img src=https://evil.invalid/x.png>",
        "<iframe src=https://evil.invalid></iframe>",
    ],
)
def test_the_policy_stops_what_would_get_past_the_escape(chromium, tmp_path, injected):
    """Even if a text became markup, nothing would be run, styled or fetched."""
    file = tmp_path / "report.html"
    whole = html.render(report_with_pictures())
    page = opened(chromium, file, whole.replace(MAIN, f"{MAIN}{injected}", 1))
    title = page.evaluate("document.title")
    assert title != "owned"
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    assert any("Content Security Policy" in each for each in page.errors), page.errors


@pytest.mark.parametrize(
    "text", [hostile.TEXTS[6], hostile.TEXTS[7], hostile.TEXTS[27], "x" * 9000]
)
def test_hostile_texts_are_text(chromium, tmp_path, text):
    file = tmp_path / "report.html"
    page = opened(chromium, file, html.render(hostile.everywhere(text)))
    page.show(360)
    page.evaluate(OPEN_ALL)
    assert (
        page.evaluate("document.querySelectorAll('script, img, iframe, pre > :not(code)').length")
        == 0
    )
    assert page.evaluate(OVERFLOWING) <= 0
    assert page.errors == []
    assert page.requests == [file.as_uri()]


def test_the_timeline_is_zoomed_with_the_keyboard(chromium, tmp_path):
    """The choice of the zoom is a group of buttons, as the browser knows them: arrows move it."""
    page = opened(chromium, tmp_path / "report.html", html.render(report_with_pictures()))
    page.show(360)
    width = "document.querySelector('svg.time').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.evaluate("document.querySelector('.zoom input').focus()")
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", windowsVirtualKeyCode=39)
    assert page.evaluate(width) == pytest.approx(4 * before, rel=0.01)
    assert page.evaluate(OVERFLOWING) <= 0


def test_links_within_the_page_of_a_cell_stay_in_its_frame(chromium, tmp_path):
    """The base of such a frame is the page around it, a notebook, and links would lead there."""
    cell = CellCheck(report_with_pictures())._repr_html_()
    # So that this test sees into the frame; scripts stay forbidden.
    cell = cell.replace("sandbox", 'sandbox="allow-same-origin"', 1)
    page = opened(chromium, tmp_path / "notebook.html", f"<meta charset=utf-8><h1>Book</h1>{cell}")
    frame = "document.querySelector('iframe').contentDocument"
    assert page.evaluate(f"{frame}.defaultView.scrollY") == 0
    page.evaluate(f"{frame}.querySelector('a[href=\"#cause-2\"]').click()")
    assert page.evaluate(f"{frame}.URL") == "about:srcdoc#cause-2"
    assert page.evaluate(f"{frame}.defaultView.scrollY") > 0
    assert page.errors == []


def test_it_is_printed_with_its_tables(chromium, tmp_path):
    """On paper, what is folded away on the screen is there as well."""
    page = opened(chromium, tmp_path / "report.html", html.render(report_with_pictures()))
    paper = page.paper()
    assert paper.startswith(b"%PDF")
    page.call("Emulation.setEmulatedMedia", media="print")
    height = "document.querySelector('details.data table').getBoundingClientRect().height"
    assert page.evaluate(height) > 0


@pytest.mark.parametrize("width", [360, 1200])
def test_no_bar_covers_what_has_not_returned(chromium, tmp_path, width):
    """The words come after all bars, so they lie upon them."""
    page = opened(chromium, tmp_path / "report.html", html.render(report_with_pictures()))
    page.show(width)
    covered = """[...document.querySelectorAll('svg.time text.above')].filter(each => {
        for (let next = each.nextElementSibling; next; next = next.nextElementSibling)
            if (next.tagName === 'rect') return true
        return false}).length"""
    assert page.evaluate("document.querySelectorAll('svg.time text.above').length") > 0
    assert page.evaluate(covered) == 0


def test_bars_in_a_table_keep_their_length(chromium, tmp_path):
    """Beside long words on a phone: a bar that was cut would look like a full one."""
    wrong = test_result("word " * 40, Verdict.WRONG_ANSWER, 0)
    tests = ([test_result(wrong.name)], [wrong, test_result("all")])
    found = [standing(grading(report_of_a_class([part(tests=each)]))) for each in tests]
    shown = class_page.render("Bars", found, NAMES, [])
    page = opened(chromium, tmp_path / "class.html", shown)
    page.show(360)
    bars = "[...document.querySelectorAll('svg')].map(each => each.getBoundingClientRect().width)"
    assert set(page.evaluate(bars)) == {160}
    assert page.evaluate(OVERFLOWING) <= 0
