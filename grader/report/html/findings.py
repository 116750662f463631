"""Shows what a test found wrong: differing elements, quantities beside what is allowed, lines."""

from grader.evidence import Budget, Differences, Evidence, MarkedLine, SourceExcerpt
from grader.report.html.markup import Child, Markup, beside_table, element, figure, joined, table
from grader.report.html.numbers import short_number
from grader.report.safe_text import one_line

_TAB_NUM_COLUMNS = 4


def differences(evidence: Evidence) -> Markup | None:
    """Return expected beside actual for the first elements that differ; None for none."""
    if not evidence.differences:
        return None
    shown = element("div", *map(_differing, evidence.differences), class_="beside")
    return figure("Expected against actual", shown)


def _differing(found: Differences) -> Markup:
    rows: list[tuple[Child, ...]] = [
        (f"{found.name}{each.index}", each.expected, each.actual) for each in found.elements
    ]
    verb = "differs" if found.num_differing == 1 else "differ"
    told = f"rank {found.rank}: {found.num_differing} of {found.num_elements} elements {verb}"
    if found.num_differing > len(found.elements):
        number = f" {len(found.elements)}" if len(found.elements) > 1 else ""
        told += f"; the first{number} of them"
    if found.made_of:
        told += f"; in the first: {found.made_of}"
    return table(told, ("element", "expected", "actual"), rows)


def budgets(evidence: Evidence) -> Markup | None:
    """Return a bar for each quantity, with marks at what is allowed and what ours needs."""
    found = evidence.budgets
    if not found:
        return None
    most: dict[str, float] = {}
    """By unit: bytes and milliseconds have no length in common."""
    for each in found:
        largest = max(each.actual, each.allowed, each.reference or 0)
        most[each.unit] = max(most.get(each.unit, 0), largest)
    formulas = dict.fromkeys(each.formula for each in found if each.formula)
    rows: list[tuple[Child, ...]] = [
        (
            each.what,
            _quantity(each.actual, each.unit),
            _quantity(each.allowed, each.unit),
            "" if each.reference is None else _quantity(each.reference, each.unit),
        )
        for each in found
    ]
    heads = ("what", "yours", "allowed", "reference")
    has_reference = any(each.reference is not None for each in found)
    key = "bar: yours; thick line: allowed" + ("; dashed line: reference" * has_reference)
    return figure(
        "Against the budget",
        *(element("p", f"allowed: {formula}") for formula in formulas),
        *(_bar(each, most[each.unit] or 1) for each in found),
        element("p", key, class_="faint"),
        beside_table("The same as a table", table("Quantities and budgets", heads, rows)),
    )


def _bar(found: Budget, most: float) -> Markup:
    is_over = found.actual > found.allowed
    label = f"{found.what}: {_quantity(found.actual, found.unit)}, "
    label += f"{'over the' if is_over else 'of'} {_quantity(found.allowed, found.unit)} allowed"
    marks = [_mark(found.allowed, most, "allowed")]
    if found.reference is not None:
        marks.append(_mark(found.reference, most, "reference"))
    bar = element(
        "rect",
        x="0",
        y=4,
        width=f"{96 * found.actual / most:.2f}%",
        height=12,
        class_="over" if is_over else "actual",
    )
    drawn = element("svg", bar, *marks, width="100%", height=24, aria_hidden="true")
    return element("div", label, drawn, class_="budget")


def _mark(value: float, most: float, kind: str) -> Markup:
    """Return a line across the bar, on a ground of its own: it may lie on any colour."""
    x = f"{96 * value / most:.2f}%"
    return joined(
        element("line", x1=x, x2=x, y1=0, y2=20, class_="ground"),
        element("line", x1=x, x2=x, y1=0, y2=20, class_=kind),
    )


def _quantity(value: float, unit: str) -> str:
    return f"{short_number(value, 6)} {unit}"


def excerpts(evidence: Evidence, told: str) -> Markup | None:
    """Return the student's lines with what was found beside them; None for none.

    told: sentences that are shown already, and not repeated beside a line.
    """
    if not evidence.excerpts:
        return None
    return figure("Your lines", *(_excerpt(each, told) for each in evidence.excerpts))


def _excerpt(found: SourceExcerpt, told: str) -> Markup:
    rows = []
    before = None
    for each in found.lines:
        if before is not None and each.line > before + 1:
            rows.append(element("tr", element("th", "⋮"), element("td", "")))
        before = each.line
        has_note = each.finding and one_line(each.finding) not in told
        finding = element("p", f"▲ {each.finding}", class_="finding") if has_note else None
        rows.append(
            element(
                "tr",
                element("th", str(each.line), scope="row"),
                element("td", joined(_code(each), finding)),
                class_="found" if each.finding else None,
            )
        )
    return element("table", element("caption", found.file), element("tbody", *rows), class_="code")


def _code(line: MarkedLine) -> Markup:
    """Return a line, with what the finding is about underlined."""
    first, last = line.column - 1, line.column - 1 + line.num_columns
    if line.column == 0:
        return element("code", line.text.expandtabs(_TAB_NUM_COLUMNS))
    before, marked = (line.text[:end].expandtabs(_TAB_NUM_COLUMNS) for end in (first, last))
    whole = line.text.expandtabs(_TAB_NUM_COLUMNS)
    about = element("u", whole[len(before) : len(marked)])
    return element("code", before, about, whole[len(marked) :])
