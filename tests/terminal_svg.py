"""The picture of the README: what `grade check` prints of a bundled submission, as an SVG."""

import os
import pty
import re
import shutil
import subprocess
import tempfile
from html import escape
from pathlib import Path

from this_checkout import GRADE, ROOT

FILE = ROOT / "docs" / "images" / "deadlock.svg"
SUBMISSION = ROOT / "tests/submissions/deadlock/mpi_sgd/ring_receives_from_the_wrong_side"
COMMAND = ("check", "my_work")
NUM_COLUMNS = 80
ADVANCE, LINE, SIZE, MARGIN = 8.4, 19, 14, 16
STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
CSS = (
    "rect{fill:#1e2227}text{fill:#d5d9df;white-space:pre;"
    f"font:{SIZE}px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}}"
    ".b{font-weight:bold}.d{fill:#9aa3ad}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#f2cc60}"
    ".c{fill:#79c0ff}"
)
_CODES = re.compile(r"\x1b\[([\d;]*)m")


def printed() -> str:
    """Return what the command shows on a terminal of 80 columns, with its colours."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SUBMISSION, Path(folder) / "my_work")
        (Path(folder) / "my_work" / "expected.toml").unlink()
        ours, theirs = pty.openpty()
        settings = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
        with subprocess.Popen(
            [*GRADE, *COMMAND],
            cwd=folder,
            env={**settings, "COLUMNS": str(NUM_COLUMNS), "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        ):
            os.close(theirs)
            found = b""
            while chunk := _read(ours):
                found += chunk
        os.close(ours)
    return found.decode().replace("\r\n", "\n").strip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux tells that nobody writes there any more
        return b""


def svg(text: str) -> str:
    """Return a text with colours of a terminal as a picture; a letter keeps to its column."""
    lines = [f"\x1b[2m$\x1b[0m grade {' '.join(COMMAND)}", *text.splitlines()]
    width, height = NUM_COLUMNS * ADVANCE + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}">',
            f"<title>grade {' '.join(COMMAND)}</title><style>{CSS}</style>",
            '<rect width="100%" height="100%" rx="8"/>',
            *(_line(line, number) for number, line in enumerate(lines)),
            "</svg>\n",
        ]
    )


def _line(line: str, number: int) -> str:
    spans, column, classes = [], 0, list[str]()
    for place, piece in enumerate(_CODES.split(line)):
        if place % 2:
            codes = piece.split(";")
            classes = [] if codes in (["0"], [""]) else classes + [STYLES[each] for each in codes]
        elif piece:
            named = f' class="{" ".join(classes)}"' if classes else ""
            spans.append(
                f'<tspan x="{MARGIN + column * ADVANCE:g}" textLength="{len(piece) * ADVANCE:g}"'
                f"{named}>{escape(piece, quote=False)}</tspan>"
            )
            column += len(piece)
    return f'<text y="{MARGIN + number * LINE + SIZE}">{"".join(spans)}</text>'


def write() -> None:
    """Write the picture anew, from a run."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(svg(printed()))
