"""Turns what a student returns for a schedule into numbers, or into a sentence on what is wrong."""

from itertools import islice

import numpy as np

_MAX_NUM_OPERATIONS = 20_000
_OPERATIONS = ("multiply", "add", "psum")
_FIELDS = ("cycle", "pe_row", "pe_col", "op", "out_col", "value")
_OPERANDS = {"multiply": ("kernel", "ifmap"), "add": ("tap",), "psum": ("psum_from",)}
NONE = -1
"""Stands for a number that is not given."""


class MalformedError(Exception):
    """What the student returned does not have the form that the handout requires."""


def tables(ofmap, schedule, values):
    """Return the results of a case: ofmap, (operations, 12) whole numbers, a value each."""
    return {
        "ofmap": ofmap,
        "schedule": np.array(schedule, dtype=np.int64).reshape(-1, 12),
        "values": np.array(values, dtype=np.float64),
    }


def pair_of(answer):
    """Return the two things that row_stationary must return."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise MalformedError(
            f"row_stationary returns {_told(answer)}; expected the pair (ofmap, schedule)."
        )
    return answer


def records_of(schedule):
    """Return the operations of a schedule, as they were given."""
    if isinstance(schedule, (str, dict)) or not hasattr(schedule, "__iter__"):
        raise MalformedError(
            f"The schedule is {_told(schedule)}; expected a list of Operation (see dataflow.py)."
        )
    records = list(islice(schedule, _MAX_NUM_OPERATIONS + 1))
    if len(records) > _MAX_NUM_OPERATIONS:
        raise MalformedError(
            f"The schedule has more than {_MAX_NUM_OPERATIONS} operations; no case needs that many."
        )
    return records


def matrix_of(ofmap):
    """Return an ofmap as float64, of two dimensions."""
    try:
        matrix = np.asarray(ofmap, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = None
    if matrix is None or matrix.ndim != 2 or matrix.size > _MAX_NUM_OPERATIONS:
        shape = f" of shape {matrix.shape}" if matrix is not None else ""
        raise MalformedError(f"The ofmap is {_told(ofmap)}{shape}; expected a matrix of numbers.")
    return matrix


def row_of(where, record):
    """Return the numbers of one record, its value, and what is wrong with an operand, if any."""
    fields = _fields(where, record)
    op = fields["op"]
    if not isinstance(op, str) or op not in _OPERATIONS:
        told = ", ".join(f'"{name}"' for name in _OPERATIONS)
        raise MalformedError(f"{where}: op is {_told(op)}; expected one of {told}.")
    row = [
        whole_number(fields["cycle"], f"{where}: cycle is"),
        whole_number(fields["pe_row"], f"{where}: pe_row is"),
        whole_number(fields["pe_col"], f"{where}: pe_col is"),
        _OPERATIONS.index(op),
        whole_number(fields["out_col"], f"{where}: out_col is"),
    ]
    missing = ""
    for name, length in (("kernel", 2), ("ifmap", 2), ("tap", 1), ("psum_from", 2)):
        numbers = [NONE] * length
        if name in _OPERANDS[op]:
            words = f'{where}: "{op}" needs {name}, but {name} is'
            given = fields.get(name)
            try:
                numbers = [whole_number(given, words)] if length == 1 else _pair(given, words)
            except MalformedError as problem:
                missing = missing or str(problem)
        row += numbers
    value = fields["value"]
    try:
        return row, float(value), missing
    except (TypeError, ValueError):
        raise MalformedError(f"{where}: value is {_told(value)}; expected a number.") from None


def _fields(where, record):
    """Return the fields of a record by name; it may be a plain tuple in the order of Operation."""
    names = (*_FIELDS, "kernel", "ifmap", "tap", "psum_from")
    if all(hasattr(record, name) for name in _FIELDS):
        return {name: getattr(record, name, None) for name in names}
    if isinstance(record, dict):
        fields = record
    elif isinstance(record, (tuple, list)):
        fields = dict(zip(names, record, strict=False))
    else:
        raise MalformedError(
            f"{where} is {_told(record)}; expected an Operation (see dataflow.py)."
        )
    missing = [name for name in _FIELDS if name not in fields]
    if missing:
        raise MalformedError(f"{where} is {_told(record)}; it lacks {', '.join(missing)}.")
    return fields


def _pair(given, words):
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise MalformedError(f"{words} {_told(given)}; expected a pair (row, column).")
    return [whole_number(each, words) for each in given]


def whole_number(given, words):
    """Return a whole number that fits, whatever type it has."""
    try:
        number = int(given)
        fits = number == given and abs(number) < 2**31
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits or isinstance(given, str):
        raise MalformedError(f"{words} {_told(given)}; expected a whole number.")
    return number


def _told(given):
    """Return a few words on any object, short enough for a message."""
    if given is None:
        return "None"
    text = " ".join(repr(given).split())
    return f"{text[:60]}{'...' if len(text) > 60 else ''} ({type(given).__name__})"
