"""Fills in templates of HTML: the one place where text is escaped."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.model import points
from grader.report import cause_words, causes, evidence, totals, words
from grader.report.html import communication, deadlock, findings, numbers, timeline
from grader.report.safe_text import one_line, visible

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parents[2]
_CALLED = (
    *(cause_words, causes, evidence, points, totals, words),
    *(communication, deadlock, findings, numbers, timeline),
)
"""Modules that templates call, by their names."""


def page(template: str, title: str, *, is_in_frame: bool = False, **values: object) -> str:
    """Return a whole page in one line: line ends and indents of its templates are single spaces.

    template: its path in the package. is_in_frame: the page is the `srcdoc` of a frame.
    """
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
