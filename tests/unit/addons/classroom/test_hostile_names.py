"""Whatever a name holds, each file of a class shows it as text, in the place of a name.

One function stands at the border of each format: `table_text` and `inert` of CSV, `mark_text`,
`entry_name` of zips, `page` of HTML, `show` of the terminal. Annotations and reports of one
submission have their own tests (tests/unit/report/test_export.py).
"""

import contextlib
import csv
import io
import re
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from class_samples import NAMES, grading, hand_in, not_read, part, report
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.addons.classroom import (
    class_page,
    gradebook,
    marking_sheets,
    outputs,
    platform_return,
    publication,
)
from grader.addons.classroom.hand_in_names import Naming
from grader.addons.classroom.marking import Given, Questions, mark
from grader.addons.classroom.outputs import show
from grader.addons.classroom.policy import Policy
from grader.addons.classroom.roster import Roster, Student
from grader.addons.classroom.similarity import Pair, Side
from grader.addons.classroom.standing import Rules, Work, standings
from grader.report.safe_text import visible

HOSTILE = (
    *("a\nb,c,d", "a\r\n\r\nb", "\u2028x\u2029y\x85z", "\x0b\x0c\x1c"),
    *("\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\x00", "\x7f\x08"),
    *("\u202egnp.x", "a\u2066b\u2069", "zero\u200bwidth\ufeff", "\U000e0041", "\u3164"),
    *('=HYPERLINK("https://evil.invalid","x")', "+1", "-1", "@SUM(1)", "\t=1", " =1", "x; =1"),
    *("\uff1d1", '"=1', '";=1', "'=1", ",=1", "\n=1"),
    *("..", "../../x", "..\\..\\x", "/etc/passwd", "C:\\x", "~", "NUL", " . ", "a/../b"),
    *("::error::x", "  ::add-mask::x", "##[error]x", "##vso[task.setvariable]x"),
    *("<script>alert(1)</script>", "\"' onload=alert(1)", "</pre></section>", "{{ 1 }}", "&lt;"),
    *("\udce9", "e" + "\u0301" * 20, "x" * 3000, " ", "_201_", "201", "a_7_b"),
)
names = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=40),
    st.text("\n\r\x1b\u202e\udce9=+-@;,'\"/\\.:#_<>{}[]019 ab", min_size=1, max_size=40),
)
with_names = settings(max_examples=150, deadline=None, derandomize=True)
TABLE = (
    "Identifier,Full name,Email address,Grade,Maximum Grade,Feedback comments",
    "Participant 1,,,,5.00,",
)


def is_shown(text):
    """Return whether all of a line can be seen, and is nothing else than it seems."""
    return visible(text) == text and "\n" not in text


def class_of(name):
    """Return students, and hand-ins of all kinds, with this name wherever one is."""
    one, other = (
        Student(each, {"id": each, "name": name, "moodle": number}, name)
        for each, number in ((name, "1"), (f"2{name}", "2"))
    )
    found = grading(replace(report([part()], manual=(("method", 3.0),)), notes=(name,)))
    marks = {name: {"method": Given(2, name, name), "ring": Given(1, name, name)}}
    label = name.replace("/", "|")  # of a file in a folder
    sent_as = Naming("moodle").parse(f"{label}_1_assignsubmission_file_x").sent_as
    works = [
        Work(hand_in(label, {"moodle": "1", "name": name}, sent_as=sent_as), found),
        Work(hand_in(f"{label}.", {"moodle": "2"}, other_authors=({"id": name + "z"},)), found),
        Work(hand_in(f"{label}z", {"id": "zz"}), found),
    ]
    rules = Rules(
        Roster((one, other)), marks, Policy(), Questions({"method": ((3.0, name),)}), NAMES
    )
    works += not_read(hand_in(name, problem=f"{name} cannot be read"))
    return standings(works, rules), found


@given(names)
@example("a\nb,c,d")
@example('x;"=1+1;y')
@with_names
def test_every_table_has_a_line_for_each_and_calculates_nothing(name):
    (found, _), graded = class_of(name)
    marked = mark(graded, {"method": Given(2, name, "")}, Questions())
    worse = grading(error=name, exit_code=2)
    first = next(each for each in found if each.counted)
    problem = replace(first.counted, grading=worse)
    both = publication.Regrade(first, replace(first, mark=None, counted=problem))
    tables = [
        (1 + len(found), gradebook.render(found, NAMES)),
        (2, publication.render([both])),
        (1 + len(marked.rows), marking_sheets.to_fill([("s1", "d" * 64, marked.lines)])),
    ]
    for num_lines, text in tables:
        lines = text.removesuffix("\n").split("\n")
        assert len(lines) == num_lines
        # What a marker has typed comes back, also what shows nothing by itself.
        assert all(map(is_shown, lines)) or text is tables[2][1]
        assert not re.search("[^\n -~\xa0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]", text)
        assert_nothing_is_calculated(text)


def assert_nothing_is_calculated(text):
    """Whichever delimiter a spreadsheet takes it to have."""
    for delimiter in ",;":
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            for cell in row:
                assert not re.search("(^|;) *[-=+@\uff1d\uff0b\uff0d\uff20]", cell), cell


@given(names)
@with_names
def test_a_platforms_worksheet_comes_back_with_names_that_are_text(name):
    """Names of columns and numbers are as they were."""
    (found, _), _ = class_of(name)
    found = [replace(each, decision=replace(each.decision, reasons=(name,))) for each in found]
    with_name = io.StringIO()
    rows = [line.split(",") for line in TABLE]
    rows[1][1], rows[1][4] = name, ""
    csv.writer(with_name, quoting=csv.QUOTE_ALL).writerows(rows)
    table = platform_return.parse(with_name.getvalue(), "g.csv", None)
    text = platform_return.fill(table, found).text
    head, line = text.removesuffix("\n").split("\n")
    assert head == TABLE[0] and is_shown(line)
    assert_nothing_is_calculated(text)
    assert line.startswith("Participant 1,")


@given(names)
@with_names
def test_a_mark_has_a_line_for_each_reason(name):
    (found, _), _ = class_of(name)
    numbers = set()
    for each in (found[0], class_of("a")[0][0][0]):
        text = gradebook.mark_text(each)
        lines = text.removesuffix("\n").split("\n")
        assert all(map(is_shown, lines))
        assert all(line.startswith("- ") for line in lines[2:])
        numbers.add(len(lines))
    assert len(numbers) == 1


@given(names)
@with_names
def test_feedback_lies_where_the_platform_looks_for_its_number(name):
    """Whatever stands before the number."""
    (found, _), _ = class_of(name)
    canvas = Naming("canvas").parse(f"{name}_201_7_x".replace("/", "|"))
    if canvas.who.get("canvas") == "201":
        works = [Work(hand_in("x", canvas.who, sent_as=canvas.sent_as), grading())]
        theirs, _ = standings(works, Rules(Roster(), {}, Policy(), Questions(), NAMES))
        for entry in entries_of(theirs):
            numbers = [piece for piece in entry.split("_") if re.fullmatch("[0-9]+", piece)]
            assert numbers[:2] == ["201", "7"]
    for entry in entries_of(found):
        folder, _, file = entry.rpartition("/")
        assert file.endswith(("report.html", "mark.txt"))
        if folder:
            assert folder.split("_")[1:] == ["1", "assignsubmission", "file", ""]


def entries_of(found):
    """Return the names of files in the zip of feedback, each of which is what it seems."""
    with zipfile.ZipFile(io.BytesIO(platform_return.feedback_zip(found))) as archive:
        entries = archive.namelist()
    for entry in entries:
        assert is_shown(entry) and not re.search(r'[\\:*?"<>|]', entry)
        pieces = entry.split("/")
        assert len(pieces) <= 2 and all(piece.strip(" .") == piece != "" for piece in pieces)
    return entries


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *sorted(key for key, _ in attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def pair(name):
    sides = (Side("s1", (name,), frozenset([1])), Side("s2", (name,)))
    return Pair(sides, name, 1.0)


@given(names)
@with_names
def test_every_page_has_the_same_tags_whatever_the_name(name):
    pages = {}
    for each in (name, "a"):
        (found, _), graded = class_of(each)
        rubrics = Questions({"method": ((3.0, each),)})
        marked = mark(graded, {"method/1": Given(2, each, "")}, rubrics)
        files = {f"{each}.py": b"x"}
        pages[each] = [
            class_page.render(each, found, NAMES, [pair(each)]),
            class_page.render_pair(pair(each)),
            marking_sheets.render_sheet("s1", graded.report, marked, {"1-x.pdf": each}, files),
        ]
    for text, plain in zip(pages[name], pages["a"], strict=True):
        read = Tags(text)
        assert read.tags == Tags(plain).tags
        texts = [each.replace("\xa0", " ") for each in read.texts]  # ours, in numbers
        assert [each for each in texts if not is_shown(each)] == []


@given(names)
@with_names
def test_a_terminal_and_the_log_of_a_runner_obey_no_name(name):
    (found, strays), _ = class_of(name)
    said = io.StringIO()
    told = list(outputs.summary(found, strays, [name], Path("out")))
    assert any(name in line for line in told)
    with contextlib.redirect_stdout(said):
        for line in told:
            show(line)
    lines = said.getvalue().removesuffix("\n").split("\n")
    assert len(lines) == len(told) and all(map(is_shown, lines))
    assert not any(line.strip().startswith("::") for line in lines)
