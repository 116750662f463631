"""A whole page of ours: one file, with a policy by which it loads nothing and runs nothing."""

import base64
import hashlib

from grader.report.html.markup import Markup, element, raw
from grader.report.html.style import stylesheet


def whole(title: str, *body: Markup, is_in_frame: bool = False) -> str:
    """Return a page of HTML.

    is_in_frame: it is to be the `srcdoc` of a frame. Its links to its own places would lead to the
    page around it otherwise, whose address such a frame has for a base.
    """
    css = stylesheet()
    head = element(
        "head",
        element("meta", charset="utf-8"),
        # Before the policy, by which no other base may follow.
        element("base", href="about:srcdoc") if is_in_frame else None,
        element("meta", http_equiv="Content-Security-Policy", content=_policy(css)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        raw("style", css),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *body), lang='en')}"


def _policy(css: str) -> str:
    """Return a policy by which nothing is loaded, run or sent; the one style is ours."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
