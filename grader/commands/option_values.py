"""What the values of options may be; each raises argparse.ArgumentTypeError for another text."""

import argparse
import math
import re
from functools import partial
from pathlib import Path


def address(text: str) -> str:
    """Return the address that a text is, without a slash at its end."""
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected an address such as https://example.org/grading"
        )
    return text.rstrip("/")


def score(text: str) -> float:
    """Return the number of points that a text is."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a number of points")
    return number


def output_file(text: str) -> Path:
    """Return the file that a text names; only the JSON report can be printed instead."""
    if text == "-":
        raise argparse.ArgumentTypeError("expected a file; `--json -` prints the report")
    return Path(text)


_FORMATS = {".html": "html", ".json": "json", ".md": "markdown", ".xml": "junit"}


def report_file(text: str) -> tuple[str, Path]:
    """Return the format that the suffix of a file names, and the file."""
    file = output_file(text)
    if file.suffix not in _FORMATS:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a file that ends in one of {', '.join(_FORMATS)}"
        )
    return _FORMATS[file.suffix], file


def processors(text: str) -> str:
    """Return a list of processors as container engines read it, such as 0-3,8."""
    if not re.fullmatch(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*", text):
        raise argparse.ArgumentTypeError(f"found {text!r}; expected processors such as 0-3,8")
    return text


def num_bytes(text: str) -> int:
    """Return the bytes that a text such as 4GiB, 512MiB or 1073741824 is, at least 64 MiB."""
    found = re.fullmatch(r"(\d{1,15})\s*(GiB|MiB|)", text)
    number = int(found[1]) << {"GiB": 30, "MiB": 20, "": 0}[found[2]] if found else 0
    if number < 64 << 20:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a memory size such as 4GiB, at least 64MiB"
        )
    return number


def export(text: str) -> tuple[str, Path]:
    """Return the name of a format and the file, of a text such as gradescope=results.json."""
    name, found, file = text.partition("=")
    if not found or not name or not file:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected a format and a file such as gradescope=results.json"
        )
    return name, Path(file)


def whole(text: str, least: int = 0) -> int:
    """Return the number that a text is, which is not less than this."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected {least} or more")
    return int(text)


positive = partial(whole, least=1)
