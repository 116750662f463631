"""The key of a plan: equal for two plans when ranks would be asked for the same."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from grader.recording.launch_plan import LaunchPlan

NOT_IN_KEY = frozenset({"allowance", "start_s", "part_s", "entry", "all_calls_count", "finite"})
"""Fields that only say how much is kept, when the machine has failed, or how a judge judges."""


def field_digests(plan: LaunchPlan) -> dict[str, str]:
    """Return a digest of each field of a plan that its key is made of: all but those of NOT_IN_KEY.

    Raises TypeError for a field of a kind that is not known here.
    """
    names = sorted({field.name for field in fields(plan)} - NOT_IN_KEY)
    return {name: _digest(getattr(plan, name)) for name in names}


def key_of(digests: Mapping[str, str]) -> str:
    """Return the key of the plan whose fields have these digests, 64 hexadecimal digits."""
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(value):
        digest.update(b"%d:" % len(piece) + piece)
    return digest.hexdigest()[:32]


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield the kind, the length and the content of a value, and of all values in it."""
    if is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        yield type(value).__name__.encode()
        for name in sorted(named.keys() - NOT_IN_KEY):
            yield name.encode()
            yield from _pieces(named[name])
    elif isinstance(value, Mapping):
        yield b"mapping %d" % len(value)
        for name in sorted(value):
            yield from _pieces(name)
            yield from _pieces(value[name])
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of Python objects has no key")
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield value.tobytes()
    elif isinstance(value, bytes | str):
        yield type(value).__name__.encode()
        yield value if isinstance(value, bytes) else value.encode(errors="surrogatepass")
    elif isinstance(value, Sequence):
        yield b"sequence %d" % len(value)
        for each in value:
            yield from _pieces(each)
    elif value is None or isinstance(value, bool | int | float | np.number):
        yield f"{type(value).__name__} {value!r}".encode()
    else:
        raise TypeError(f"{type(value).__name__}, of which no key is made")
