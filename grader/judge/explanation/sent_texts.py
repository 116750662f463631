"""Texts among the values that a rank sent, which may be anything."""

from collections.abc import Mapping
from typing import Any

_MAX_CHARS = 600


def text_of(values: Mapping[str, Any], name: str, length: int = _MAX_CHARS) -> str:
    """Return a text among the values, up to a length; empty where it is none."""
    value = values.get(name)
    return value[:length] if isinstance(value, str) else ""
