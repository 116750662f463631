"""JSON that no viewer obeys: ASCII, and nothing in it that a web page or a CI runner looks for."""

import json
import re
from typing import Any

_COMMAND = re.compile("[<>&]|#(?=#)")
"""What ends a script in a page, and what begins a command to a CI runner: only in strings."""


def dump(data: Any) -> str:
    """Return the data as JSON; the keys come in the order of the data. Texts may hold anything."""
    text = json.dumps(_valid(data), indent=2, allow_nan=False)
    return _COMMAND.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def number(number: float, num_decimals: int = 9) -> float:
    """Return points without the noise of binary fractions, as an integer where they are one.

    Sums are rounded to fewer decimals than their terms, so that rounded terms have the same sum.
    """
    rounded = round(float(number), num_decimals)
    return int(rounded) if rounded.is_integer() else rounded


def _valid(data: Any) -> Any:
    """Return the data with lone surrogates, which are no valid JSON, as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {key: _valid(value) for key, value in data.items()}
    return [_valid(value) for value in data] if isinstance(data, list) else data
