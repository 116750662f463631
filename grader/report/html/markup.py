"""Makes HTML and SVG: the one place where text is escaped."""

import html

from grader.report.safe_text import visible


class Markup(str):
    """Text that is HTML already. Only `element`, `text` and `joined` make any."""

    __slots__ = ()


Child = str | Markup | None
Attribute = str | int | float | bool | None

_VOID = frozenset({"base", "br", "col", "hr", "input", "meta", "wbr"})


def text(shown: str) -> Markup:
    """Return text of anybody's as HTML that shows it, and every hidden character in it."""
    return shown if isinstance(shown, Markup) else Markup(html.escape(visible(shown)))


def element(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Return an element; children and attributes that are no Markup are escaped.

    tag: one of ours. attributes: `class_` is class, and `aria_label` is aria-label; those that are
    None or False are left out. True stands for an attribute without a value.
    """
    named = "".join(
        f" {_name(name)}" if value is True else f' {_name(name)}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{named}>")
    return Markup(f"<{tag}{named}>{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """Return the children one after the other."""
    return Markup("".join(text(child) for child in children if child is not None))


def breakable(name: str) -> Markup:
    """Return a name that is broken after its underscores where there is no room for it."""
    first, *others = name.split("_")
    rest = [each for piece in others for each in (text("_"), element("wbr"), text(piece))]
    return joined(first, *rest)


def raw(tag: str, content: str) -> Markup:
    """Return a style element of ours, whose text is not escaped. Raises ValueError for an end."""
    if "</" in content:
        raise ValueError(f"the text of {tag} would end it")
    return Markup(f"<{tag}>{content}</{tag}>")


def table(caption: str, heads: tuple[str, ...], rows: list[tuple[Child, ...]]) -> Markup:
    """Return a table in a region that scrolls sideways; the first cell of a row is its head."""
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    body = [
        element(
            "tr",
            element("th", first, scope="row"),
            *(element("td", each) for each in others),
        )
        for first, *others in rows
    ]
    content = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *body),
    )
    return element("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)


def beside_table(summary: str, content: Markup) -> Markup:
    """Return the table beside a picture, folded away until it is asked for."""
    return element("details", element("summary", summary), content, class_="data")


def figure(title: str, *children: Child, class_: str = "") -> Markup:
    """Return a figure under its title."""
    return element("figure", element("figcaption", title), *children, class_=class_ or None)


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: Attribute) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return text(str(value))
