"""Texts that a submission may put into a report, and reports full of them."""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from grader.model.evidence import CallSpan
from grader.model.finding import Finding
from grader.model.report import Feedback, ManualPart, PartResult, Report, TestResult, Verdict

from .example import seen, usual

TEXTS = (
    "\x1b[2J\x1b[1;1H\x1b]0;owned\x07 cleared",
    "\x9b31m eight-bit CSI",
    "full marks \u202e 001/001 \u2066 bidi",
    "zero\u200bwidth\u00ad \ufeff \U000e0041 tags",
    "null \x00, \x08\x08 backspaces, \r carriage return, \x7f",
    "lone \udc80 surrogates \ud800, no character \uffff \ufffe",
    "```\n</details><script>alert(1)</script>\n````\n~~~",
    "</details> <img src=x onerror=alert(1)> <!-- <pre>",
    "![image](https://evil.invalid/x.png) [link](javascript:alert(1)) <https://evil.invalid>",
    "https://evil.invalid www.evil.invalid a@evil.invalid @everyone @@all",
    "a | b | c\n|---|\n# heading\n- list\n> quote\n=====\n1. one\n    code",
    "::set-output name=x::y\n  ::add-mask::a\n::stop-commands::x",
    "words ::error::here ##[error]there ##vso[task.setvariable]x ##teamcity[x] #" + "##[group]",
    "]]> & &amp; &#64; <a b='c' \"d\">",
    "x" * 9000,
    "::" + ":" * 3000,
    "日本語" * 300,
    "e" + "\u0301" * 500,
    "\\ \\` `` ` `@` \\@ $x$ ^y^ ~z~ {{ x }} /approve",
    "last output of rank 3:\n\nlast output of rank 7:\nnot from rank 7",
    '=HYPERLINK("https://evil.invalid","x") +1 -1 @SUM(1)\t=1|cmd',
    "\u2028::error::line\u2029::error::paragraph\x85::error::next \x0b::a\x0c::b\x1c::c",
    "\r::error::return\n\t::notice::tab\n\ufeff::warning::mark\n\u200b::debug::space",
    "::stop-commands::token\n::token::\n::save-state name=a::b\n::add-path::/tmp",
    "##[endgroup] ##[command]x ###vso[build.updatebuildnumber]1 ####teamcity[x]",
    "\x1b[0Ksection_start:1:x[collapsed=true]\r\x1b[0Kopen",
    "\x1b]8;;https://evil.invalid\x1b\\click\x1b]8;;\x1b\\ \x1bP$q\x1b\\ \x9d0;t\x9c",
    "</script><script>alert(1)</script> <!-- --> <![CDATA[ ]]> <?php ?> &lt;b&gt; &#x3c;",
    "</summary></details></details></td></table><details open ontoggle=alert(1)>",
    "#1 GH-1 a/b#1 !1 $1 %1 ~bug &1 ^alert#1 @a/b #@!1 ssh://evil.invalid mailto:a@evil.invalid",
    "a" * 40 + " :smile: [x] [^1] [a]: https://evil.invalid\n[a]\n$$\\href{a}{b}$$ ==a== ++b++",
    "\u3164\u115f\uffa0\u2800\u034f\ufe0f\U000e0100 hidden, \u0e31\u0e31\u0e31\u0e31\u0e31 marks",
    "a\u202eb\u2069c\u061cd\u200ee \U0001d173",
    "\udcff\udc80.py from bytes, \ud83d alone",
    "$(touch /tmp/x); `id` '\"'\"' --option -rf \\\n",
    "/close\n/approve\n/label ~bug",
    'grade: journal: {"key": 1}\ngrade: another error',
    "",
    " \t\n ",
)

texts = st.one_of(
    st.sampled_from(TEXTS),
    st.text(st.characters(), max_size=60),
    st.text("`<>|:#@[]()!*_~\\&\n\r\t -=+.1ab\x1b\u202e\ud800", max_size=60),
)
verdicts = st.sampled_from(list(Verdict))
points = st.integers(0, 80).map(lambda quarters: quarters / 4)
names = st.from_regex(r"[a-z][a-z_0-9]{0,30}", fullmatch=True)

facts = st.one_of(
    texts, st.integers(-5, 5), st.floats(-1, 1), st.lists(texts, max_size=2).map(tuple)
)
findings = st.builds(
    Finding,
    key=names,
    text=texts,
    facts=st.dictionaries(st.sampled_from(["place", "places", "rank"]), facts, max_size=2),
    help=texts,
)
tests = st.builds(
    TestResult,
    name=names,
    sentence=texts,
    verdict=verdicts,
    points=points,
    max_points=points,
    message=texts,
    detail=texts,
    where=texts,
    findings=st.lists(findings, max_size=2).map(tuple),
    blocked_by=st.lists(names, max_size=1).map(tuple),
    is_hidden=st.booleans(),
    feedback=st.sampled_from(list(Feedback)),
    evidence=st.one_of(st.none(), st.builds(lambda text: filled(seen(), text), texts)),
)
parts = st.builds(
    PartResult,
    name=names,
    title=texts,
    verdict=verdicts,
    points=points,
    max_points=points,
    message=texts,
    tests=st.lists(tests, max_size=4).map(tuple),
    notes=st.lists(findings, max_size=2).map(tuple),
    wall_time_s=st.floats(0, 1000),
    num_launches=st.integers(0, 40),
)
manual_parts = st.builds(ManualPart, name=names, title=texts, max_points=points, found=texts)
reports = st.builds(
    Report,
    assignment=names,
    title=texts,
    submission=texts,
    submission_digest=st.just("ab" * 32),
    mode=st.sampled_from(["local", "container"]),
    parts=st.lists(parts, max_size=3).map(tuple),
    manual_parts=st.lists(manual_parts, max_size=2).map(tuple),
    versions=st.just(usual().versions),
    wall_time_s=st.floats(0, 1000),
    started_at=st.just("2026-03-02T01:58:11+00:00"),
    notes=st.lists(texts, max_size=2).map(tuple),
)


OURS = {
    (Report, "assignment"),
    (Report, "submission_digest"),
    (Report, "named"),
    (Report, "course_folder"),
    (Report, "image"),
    (Report, "mode"),
    (Report, "started_at"),
    (Report, "versions"),
    (PartResult, "name"),
    (TestResult, "name"),
    (TestResult, "feedback"),
    (TestResult, "blocked_by"),
    (Finding, "key"),
    (CallSpan, "kind"),
    (ManualPart, "name"),
}
"""What only the course or the grader can set. Every other text may stem from a submission."""


def filled(noun: Any, text: str) -> Any:
    """Return the noun with this text for each text in it that may stem from a submission."""
    changed = {}
    for field in dataclasses.fields(noun):
        value = getattr(noun, field.name)
        if (type(noun), field.name) in OURS or isinstance(
            value, Verdict | bool | int | float | None
        ):
            continue
        if isinstance(value, str):
            changed[field.name] = text
        elif isinstance(value, Mapping):
            changed[field.name] = dict.fromkeys(value, text)
        elif isinstance(value, tuple):
            changed[field.name] = tuple(
                each
                if isinstance(each, int)
                else text
                if isinstance(each, str)
                else filled(each, text)
                for each in value
            )
        elif dataclasses.is_dataclass(value):
            changed[field.name] = filled(value, text)
        else:
            raise TypeError(f"{field.name} of {type(noun).__name__} is neither; say whose it is")
    return replace(noun, **changed)


def everywhere(text: str) -> Report:
    """Return a report in which every text that may stem from a submission is this one."""
    found = (Finding("any.cause", "", {"place": ""}, ""), Finding("any.fact", ""))
    lost = TestResult("test_a", "", Verdict.WRONG_ANSWER, 0, 2, evidence=seen(), findings=found)
    unrun = TestResult("test_b", "", Verdict.SKIPPED, 0, 1)
    note = Finding("note.any", "", {}, "")
    whole = PartResult("part_a", "", Verdict.WRONG_ANSWER, 0, 3, "", (lost, unrun), (note,))
    parts = (
        whole,
        replace(whole, name="part_b", verdict=Verdict.ACCEPTED),
        replace(whole, name="part_c", verdict=Verdict.NOT_ATTEMPTED),
        replace(whole, name="part_d", tests=()),
    )
    manual = ManualPart("manual_a", "", 5, "")
    report = replace(usual(), parts=parts, manual_parts=(manual,), notes=("",))
    return filled(report, text)  # type: ignore[no-any-return]


def flat(text: str) -> str:
    """Return the text with its white space as single spaces."""
    return " ".join(text.split())
