"""Reads a TOML file of which every key is known: all its mistakes are told, a sentence each.

The keys and their types are those of a msgspec Struct. msgspec stops at the first mistake, so each
value is converted by itself; the description of its type says what was expected.
"""

import functools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from grader.model.errors import GraderError
from grader.model.spelling import did_you_mean

Table = dict[str, Any]
Kind = TypeVar("Kind", bound=msgspec.Struct)

NAME = r"\A[a-z][a-z0-9_]*\Z"
MAX_NUM_BYTES = 64 << 10
MAX_LINE_NUM_BYTES = 4096
"""For the time and memory of tomllib grow with the square of the length of a dotted key."""
_MAX_FOUND_CHARS = 60
_GREATEST_SHOWN = 10**18


def read(file: Path, kind: type[Kind], cross_check: Callable[[Table], Iterable[str]]) -> Kind:
    """Return what a file says, whose tables nest as the Structs do.

    cross_check: returns what is wrong between several values, `key path: sentence` each. In the
    table it is given, a value that is wrong by itself is None. Raises GraderError with a sentence
    for each mistake.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_NUM_BYTES + 1)
    except OSError as error:
        raise GraderError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        data, right, mistakes = _checked(content, kind)
    except GraderError as error:
        raise GraderError(f"{file}: {error}") from None
    if mistakes := [*mistakes, *cross_check(right)]:
        raise GraderError(*(f"{file}: {mistake}" for mistake in mistakes))
    return msgspec.convert(data, kind)


def key_path(path: str, key: str) -> str:
    """Return `parts.ring.points`: the path of a key in the table at `path`."""
    shown = key if re.fullmatch(r"[\w-]{1,60}", key, re.ASCII) else found_text(key)
    return f"{path}.{shown}" if path else shown


def item_paths(path: str, items: Sequence[object]) -> list[str]:
    """Return the path of each item: `parts.ring` by a name of its own, else `parts[2]`, from 0."""
    names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
    return [
        key_path(path, name)
        if isinstance(name, str) and re.match(NAME, name) and names.count(name) == 1
        else f"{path}[{index}]"
        for index, name in enumerate(names)
    ]


def found_text(value: object) -> str:
    """Return a value about as TOML writes it, and not for long."""
    if isinstance(value, dict | list):
        kind = "table" if isinstance(value, dict) else "list"
        return f"a {kind}" if value else f"an empty {kind}"
    if isinstance(value, int) and abs(value) > _GREATEST_SHOWN:
        return "a number with too many digits"  # Python refuses to write some of them
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
    return text if len(text) <= _MAX_FOUND_CHARS else f"{text[:_MAX_FOUND_CHARS]}..."


# A grading reads the same files ten times.
@functools.lru_cache(64)
def _checked(content: bytes, kind: type[msgspec.Struct]) -> tuple[Table, Table, Sequence[str]]:
    """Return the table, its right values, and a sentence for each other one."""
    data = _parsed(content)
    mistakes: list[str] = []
    return data, _right_table(data, kind, "", mistakes), mistakes


def _parsed(content: bytes) -> Table:
    if len(content) > MAX_NUM_BYTES:
        raise GraderError(f"is larger than {MAX_NUM_BYTES} bytes")
    for number, line in enumerate(content.splitlines(), 1):
        if len(line) > MAX_LINE_NUM_BYTES:
            raise GraderError(
                f"line {number} is {len(line)} bytes long; expected at most {MAX_LINE_NUM_BYTES}: "
                "split a long list over several lines"
            )
    try:
        return tomllib.loads(content.decode(), parse_float=Decimal)
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        wrong = content[error.start]
        raise GraderError(
            f"expected UTF-8 text; found the byte 0x{wrong:02x} on line {number}"
        ) from None
    except RecursionError:
        raise GraderError("lists or tables are nested too deeply") from None
    except InvalidOperation:
        raise GraderError("a number's exponent is too large") from None
    except ValueError as error:  # its words end with line and column
        raise GraderError(f"is not valid TOML: {error}") from None


def _right_table(table: Table, kind: type[msgspec.Struct], path: str, mistakes: list[str]) -> Table:
    """Return the known keys of a table, None for each wrong value; add what is wrong."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    right = {}
    for key, value in table.items():
        where = key_path(path, key)
        if key not in fields:
            known = ", ".join(sorted(fields))
            mistakes.append(
                f"{where}: unknown key; expected one of: {known}{did_you_mean(key, fields)}"
            )
            continue
        right[key] = _right_value(value, fields[key].type, where, mistakes)
    for key, field in fields.items():
        if field.required and key not in table:
            expected = _expected(field.type)
            mistakes.append(f"{key_path(path, key)}: missing; expected {expected}")
    return right


def _right_value(value: object, kind: Any, path: str, mistakes: list[str]) -> Any:
    """Return what is right of a value, None where nothing is; add what is wrong."""
    before = len(mistakes)
    inner = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    origin, arguments = get_origin(inner), get_args(inner)
    right: Any = value
    if origin is Union:  # with None, which TOML cannot write
        return _right_value(value, arguments[0], path, mistakes)
    if msgspec.inspect.is_struct_type(inner) and isinstance(value, dict):
        return _right_table(value, inner, path, mistakes)
    if origin is tuple and isinstance(value, list):
        paths = item_paths(path, value)
        items = [
            _right_value(item, arguments[0], where, mistakes)
            for item, where in zip(value, paths, strict=True)
        ]
        # A table keeps its place, by which it may be called.
        are_tables = msgspec.inspect.is_struct_type(arguments[0])
        right = [item or {} for item in items] if are_tables else _texts(items, path, mistakes)
    elif origin is dict and isinstance(value, dict):
        right = {
            key: _right_value(item, arguments[1], key_path(path, key), mistakes)
            for key, item in value.items()
            if _right_value(key, arguments[0], key_path(path, key), mistakes) is not None
        }
    if len(mistakes) == before:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            mistakes.append(f"{path}: found {found_text(value)}; expected {_expected(kind)}")
            return None
    return right


def _texts(items: Sequence[str | None], path: str, mistakes: list[str]) -> list[str]:
    counts = Counter(item for item in items if item is not None)
    for item, count in counts.items():
        if count > 1:
            mistakes.append(
                f"{path}: found {found_text(item)} {count} times; expected each item once"
            )
    return list(counts)


def _expected(kind: Any) -> str:
    """Return what the description of a type says it is."""
    if get_origin(kind) is Union:
        kind = get_args(kind)[0]
    found = [meta.description for meta in get_args(kind)[1:] if isinstance(meta, msgspec.Meta)]
    return str(found[0] if found else "a table")
