"""Draws charts and tables with matplotlib, as SVG and PNG.

Colours are those of Okabe and Ito (2008), which colour-blind people tell apart; each series has a
mark, and in bars a hatching, of its own, for print in grey.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatter,
    NullLocator,
    PercentFormatter,
    ScalarFormatter,
)
from matplotlib.transforms import Bbox

from grader.study.figures import NOT_MEASURED, Chart, Figure, Series, Table, shown

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
_WIDTH_INCHES = 7.2
_HEIGHT_INCHES = 4.2
_TITLE_INCHES = 0.35
_ROW_INCHES = 0.205
_LINE_INCHES = 0.165
_CAPTION_NUM_CHARS = 118
_BARS_NUM_CHARS = 77
"""So many characters fit below all bars together."""
_LEGEND_NUM_CHARS = 108
"""So many characters fit below a chart side by side."""
_HANDLE_NUM_CHARS = 10
"""So many characters the line beside a label takes, and the gap between two."""
_MODELLED = ", modelled"
_LEAST_BARS = 4
"""There is room for so many, however few there are."""
_DOTS_PER_INCH = 140
_MAX_TABLE_ROWS = 40
_LEAST_COLUMN_NUM_CHARS = 6
_BOLD = 1.12
"""So much wider is a bold text, as that of the first row is."""
_WIDTH_NUM_CHARS = 122
"""So many characters of a table fit into the width of a figure."""
_SETTINGS: Any = {
    "svg.fonttype": "none",  # texts stay texts
    "svg.hashsalt": "study",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class _Plain(LogFormatter):
    """Labels as few ticks as LogFormatter does, with 0.3 in place of 3e-01."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _written_out(x) if super().__call__(x, pos) else ""


def _written_out(x: float, _: object = None) -> str:
    return f"{x:,.0f}" if x >= 1_000 else f"{x:g}"


def draw(figure: Figure, caption: str, stem: str) -> None:
    """Write a figure to stem.svg and stem.png, its caption below it."""
    with rc_context(_SETTINGS):
        lines = textwrap.wrap(caption, _CAPTION_NUM_CHARS)
        below_inches = (len(lines) + 1) * _LINE_INCHES
        rows_inches = _ROW_INCHES * (1 + min(len(figure.rows), _MAX_TABLE_ROWS + 1))
        is_chart = isinstance(figure, Chart)
        whole = below_inches + (_HEIGHT_INCHES if is_chart else _TITLE_INCHES + rows_inches)
        bottom = below_inches / whole
        canvas = Canvas(figsize=(_WIDTH_INCHES, whole))
        FigureCanvasAgg(canvas)
        title = canvas.suptitle(figure.title, x=0.015, ha="left", fontsize=10.5, fontweight="bold")
        if isinstance(figure, Chart):
            canvas.set_layout_engine(ConstrainedLayoutEngine(rect=(0, bottom, 1, 1 - bottom)))
            _chart(canvas.subplots(), figure)
        else:
            title.set_y(1 - 0.08 / whole)  # of a chart the layout engine places it
            _table(canvas.add_axes((0.005, bottom, 0.99, rows_inches / whole)), figure)
        canvas.text(0.015, 0.06 / whole, "\n".join(lines), fontsize=7.5, va="bottom")
        canvas.savefig(f"{stem}.svg", metadata={"Date": None})
        canvas.savefig(f"{stem}.png", dpi=_DOTS_PER_INCH, metadata={"Software": None})


def _chart(axes: Axes, chart: Chart) -> None:
    series = [each for each in chart.series if each.dots]
    if chart.is_bars:
        _bars(axes, chart, series)
    else:
        for index, each in enumerate(chart.series):
            # Where lines lie on each other, those below are seen at the sides.
            if each.dots:
                _line(axes, each, _place(chart, index), lead=len(chart.series) - 1 - index)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.is_log_x:
        axes.set_xscale("log", base=2 if chart.x_ticks else 10)
    if chart.is_log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_written_out))
        axes.yaxis.set_minor_formatter(_Plain(minor_thresholds=(2, 0.5)))
    elif chart.begins_at_zero and not (chart.is_share or chart.is_bars):
        most = max((dot.high for each in series for dot in each.dots), default=1.0)
        axes.set_ylim(0, 1.06 * most or 1.0)
    if chart.x_ticks:
        axes.xaxis.set_major_locator(FixedLocator(chart.x_ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
    if chart.is_share:
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if series and len(chart.series) > 1:  # also where one alone of several was measured
        handles, labels = axes.get_legend_handles_labels()
        missing = [each.legend for each in chart.series if not each.dots]
        handles += [Line2D([], [], linestyle="") for _ in missing]
        labels += missing
        columns = _LEGEND_NUM_CHARS // (max(map(len, labels)) + _HANDLE_NUM_CHARS)
        axes.legend(  # not within, where it would hide marks
            handles,
            labels,
            fontsize=7.5,
            handlelength=3.5,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.14),
            frameon=False,
            ncols=max(1, min(3, columns)),
        )


def _place(chart: Chart, index: int) -> int:
    """Return whose color and mark a series has: a model has those of what it models."""
    labels = [each.label.removesuffix(", measured") for each in chart.series]
    modelled = labels[index].partition(_MODELLED)[0]
    return labels.index(modelled) if modelled in labels else index


def _line(axes: Axes, series: Series, place: int, lead: int) -> None:
    """Draw a line and its marks. lead: how many lines may come to lie on it."""
    colour = _COLOURS[place % 7]
    mark: Any = _MARKS[place % 7] if series.has_marks else ""
    # Small: a hollow mark has another meaning.
    size = 3.0 if series.is_modelled else 4.0 + min(lead, 4)
    look: dict[str, Any] = {"color": colour, "ms": size}
    style: Any = (0, (4, 2)) if series.is_modelled else "-"
    width = 1.2 + 0.5 * min(lead, 4)
    xs: list[Any] = [dot.x for dot in series.dots]
    axes.plot(xs, [dot.y for dot in series.dots], color=colour, linestyle=style, lw=width)
    for dot in series.dots:
        x: Any = dot.x
        if dot.low < dot.high:
            # A line, not a collection of lines: the legend keeps clear of those alone.
            axes.plot([x, x], [dot.low, dot.high], color=colour, lw=1)
        if series.has_marks:
            hollow = "white" if dot.is_oversubscribed else colour
            # Also at the edge, where half of it would be cut off.
            axes.plot([x], [dot.y], marker=mark, mfc=hollow, zorder=3, clip_on=False, **look)
    # The legend shows line and mark together.
    axes.plot([], [], marker=mark, linestyle=style, lw=width, label=series.legend, **look)


def _bars(axes: Axes, chart: Chart, series: Sequence[Series]) -> None:
    bars, is_stacked = chart.bars, chart.is_stacked
    measured = [str(dot.x) for each in series for dot in each.dots]
    words = list(dict.fromkeys([*bars, *measured]))
    for at, word in enumerate(words):
        if word not in measured:
            foot = axes.get_xaxis_transform()
            look: Any = {"ha": "center", "va": "bottom", "rotation": 90, "fontsize": 7.5}
            axes.text(at, 0.02, NOT_MEASURED, transform=foot, **look)
    width = 0.8 if is_stacked or not series else 0.8 / len(series)
    heights = dict.fromkeys(words, 0.0)
    for place, each in enumerate(series):
        shift = 0.0 if is_stacked else (place - (len(series) - 1) / 2) * width
        drawn = axes.bar(
            [words.index(str(dot.x)) + shift for dot in each.dots],
            [dot.y for dot in each.dots],
            width * (1.0 if is_stacked else 0.92),
            [heights[str(dot.x)] if is_stacked else 0.0 for dot in each.dots],
            color=_COLOURS[place % 7],
            edgecolor="white",
            # Where colours come again, other hatchings come with them.
            hatch=_HATCHES[(place + place // 7) % 7],
            alpha=0.55 if each.is_modelled else 1.0,
            label=each.label,
        )
        if not is_stacked:
            numbers = [f"{dot.y:.1%}" if chart.is_share else f"{dot.y:.3g}" for dot in each.dots]
            tops = [dot.high for dot in each.dots]
            for bar, number, top in zip(drawn, numbers, tops, strict=True):
                middle = bar.get_x() + bar.get_width() / 2
                axes.annotate(
                    number, (middle, top), (0, 2), textcoords="offset points", ha="center",
                    fontsize=7.5,
                )  # fmt: skip
        for bar, dot in zip(drawn, each.dots, strict=True):
            heights[str(dot.x)] += dot.y
            if dot.is_oversubscribed:
                bar.set(facecolor="white", edgecolor=_COLOURS[place % 7], linewidth=1.2)
            if dot.low < dot.high:
                middle = bar.get_x() + bar.get_width() / 2
                axes.vlines([middle], dot.low, dot.high, color="black", lw=1)
    axes.set_xticks(range(len(words)), [_in_lines(word, len(words)) for word in words])
    axes.margins(y=0.15)  # room for the numbers
    room = max(0.0, (_LEAST_BARS - len(words)) / 2)
    axes.set_xlim(-0.6 - room, len(words) - 0.4 + room)
    axes.grid(visible=False, axis="x")


def _in_lines(word: str, num_bars: int) -> str:
    """Return the name of a bar so that it does not reach its neighbours'."""
    num_chars = max(1, _BARS_NUM_CHARS // num_bars)
    return "\n".join(textwrap.wrap(word, num_chars, break_on_hyphens=False))


def _table(axes: Axes, table: Table) -> None:
    axes.axis("off")
    rows = [[shown(cell) for cell in row] for row in table.rows[:_MAX_TABLE_ROWS]]
    num_left_out = len(table.rows) - len(rows)
    if num_left_out:
        rows.append([f"{num_left_out} more in the CSV", *[""] * (len(table.columns) - 1)])
    listed = [list(table.columns), *rows]
    lengths = [
        max(_BOLD * len(head), *(len(row[column]) for row in listed))
        for column, head in enumerate(table.columns)
    ]
    widths = [1.06 * max(length, _LEAST_COLUMN_NUM_CHARS) + 1.5 for length in lengths]
    drawn = axes.table(
        cellText=rows,
        colLabels=list(table.columns),
        colWidths=[width / sum(widths) for width in widths],
        bbox=Bbox.unit(),
        cellLoc="left",
        colLoc="left",
        edges="horizontal",
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(max(4.5, min(7.5, 7.5 * _WIDTH_NUM_CHARS / sum(widths))))
    for (row, _), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.PAD = 0.01
        if row == 0:
            cell.set_text_props(fontweight="bold")
