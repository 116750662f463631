"""The report as one HTML page, and the templates of all pages: the one place that escapes text."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model import plural, points
from grader.model.report import Report, Verdict
from grader.report import causes, quotes, words
from grader.report.causes import costliest_first, is_missing
from grader.report.html import findings, pictures
from grader.report.safe_text import one_line, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parents[2]
_CALLED = (causes, findings, pictures, plural, points, quotes, words)
"""Modules that templates call, by their names."""


def page(template: str, title: str, *, is_in_frame: bool = False, **values: object) -> str:
    """Return a whole page in one line; is_in_frame: it is the `srcdoc` of a frame."""
    made = environment().get_template(template)
    filled = made.render(title=title, is_in_frame=is_in_frame, **values)
    return re.sub(r" *\n *", " ", filled)


@cache
def environment() -> "Environment":
    """Return what fills in templates: it escapes every text, and shows what is hidden in it."""
    # Imported here, because most commands show no page.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: object) -> str:
        if isinstance(value, Markup):  # which only a template makes
            return value
        if isinstance(value, float):
            return f"{value:.3f}".rstrip("0").rstrip(".")
        return visible(str(value))

    style = " ".join((Path(__file__).parent / "style.css").read_text(encoding="utf-8").split())
    environment = Environment(
        autoescape=True,
        finalize=shown,
        loader=FileSystemLoader(_PACKAGE),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"one_line": one_line, "written": points.written}
    environment.globals |= {module.__name__.rpartition(".")[2]: module for module in _CALLED}
    environment.globals |= {
        "style": Markup(style),  # noqa: S704 - ours
        "style_digest": base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    }
    return environment


_SIGNS = {
    Verdict.ACCEPTED: ("✓", "good"),
    Verdict.SKIPPED: ("~", "doubt"),
    Verdict.NOT_ATTEMPTED: ("○", "doubt"),
    Verdict.NOT_PROVEN: ("?", "doubt"),
    Verdict.JUDGE_ERROR: ("!", "judge"),
}


def render(report: Report, *, is_in_frame: bool = False) -> str:
    """Return the report as an HTML page; is_in_frame: as the `srcdoc` of a frame, not a file."""
    found = [each for each in costliest_first(report) if not is_missing(each[0])]
    return page(
        "report/html/report.html",
        f"{one_line(report.assignment)}: {one_line(report.submission)}",
        is_in_frame=is_in_frame,
        report=report,
        found=found,
        # Of the costliest cause of each part.
        number_of={part.name: n for n, (part, _) in reversed([*enumerate(found, 1)])},
        sign_of=lambda verdict: _SIGNS.get(verdict, ("✗", "bad")),
    )
