"""Turns what ranks sent into outcomes, or into the sentence that says what was wrong with it."""

import contextlib
import math
import signal
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.judge.crash_hints import Crash, started_as
from grader.judge.newer_syntax import newer_syntax
from grader.model import Array, RunFailure, Text, Verdict
from grader.runner import slips
from grader.runner.wire import Frame, text_of
from grader.trace.calls import Trace

_LOST_CONNECTION = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")
_REFUSED = (
    "submissions talk through mpi4py or torch only",
    "MPI_ERR_UNSUPPORTED_OPERATION",
    "[Errno 1] Operation not permitted",
)
"""What the guard's exceptions say, those of MPI functions that it refuses, and that of mmap."""
_NO_GPU = ("Torch not compiled with CUDA", "No CUDA GPUs are available", "no NVIDIA driver")
"""What torch says to a program that asks for a GPU where there is none."""


def refuse(
    rank: int, expected: Mapping[str, Array | Text], frame: Frame
) -> tuple[dict[str, Any], str]:
    """Return the results of one rank as announced, and why they are refused (empty if not)."""
    texts = frame.values.get("texts")
    texts = texts if isinstance(texts, dict) else {}
    results: dict[str, Any] = {}
    for name, form in expected.items():
        if isinstance(form, Text):
            text = texts.get(name)
            if not isinstance(text, str) or len(text) > form.max_num_chars:
                return {}, f"rank {rank}: {name} should be a text, which was not returned"
            results[name] = text
            continue
        array = frame.arrays.get(name)
        if array is None:
            found = texts.get(name)
            is_text = isinstance(found, str)
            return {}, f"rank {rank}: {name} is {found if is_text else 'missing'}; " + (
                f"expected an array of {form.dtype}"
            )
        problem = _array_problem(array, form)
        if problem:
            return {}, f"rank {rank}: {name} {problem}"
        results[name] = array
    return results, ""


def most_num_bytes(expected: Mapping[str, Array | Text]) -> int:
    """Return how many bytes the arrays of one rank have at most that are as announced.

    Of those whose lengths nobody knows beforehand, all together have what the largest may have:
    each for itself, a dozen of them would be more than the judge has memory for.
    """
    forms = [form for form in expected.values() if isinstance(form, Array)]
    unknown = [form.max_num_bytes for form in forms if None in form.shape]
    return sum(map(_num_bytes, forms)) + max(unknown, default=0)


def _num_bytes(form: Array) -> int:
    """Return how many bytes an array of this form has; nothing where that is not known."""
    known = [length for length in form.shape if length is not None]
    if len(known) < len(form.shape):
        return 0
    return min(form.max_num_bytes, np.dtype(form.dtype).itemsize * math.prod(known))


def failure_of_many_calls(trace: Trace) -> RunFailure:
    """Return why a case has no outcome whose calls are more than may be kept."""
    by_rank = [len(seen.calls) for seen in trace.ranks]
    rank = by_rank.index(max(by_rank))
    return RunFailure(
        Verdict.NOT_PROVEN,
        f"rank {rank} made {by_rank[rank]:,} MPI calls or more here; together with those before "
        "they are more than the calls of a part that are kept, so a person should look at this",
    )


def _array_problem(array: np.ndarray[Any, Any], form: Array) -> str:
    fits = len(array.shape) == len(form.shape) and all(
        wanted is None or wanted == got for wanted, got in zip(form.shape, array.shape, strict=True)
    )
    if not fits:
        wanted = str(form.shape).replace("None", "any")
        return f"has shape {array.shape}; expected {wanted}"
    if array.dtype != np.dtype(form.dtype):
        return f"is an array of {array.dtype}; expected {form.dtype}"
    if array.nbytes > form.max_num_bytes:
        return f"has {array.nbytes} bytes; at most {form.max_num_bytes} are taken"
    if form.finite and array.dtype.kind in "fc" and not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f"[{', '.join(map(str, index))}]" if index else ""
        return f"holds a value that is not a finite number: {place or 'it'} is {array[index]}"
    return ""


def is_lost_connection(values: Mapping[str, Any]) -> bool:
    """Return whether a rank only says that another one went away."""
    return any(words in text_of(values, "message") for words in _LOST_CONNECTION)


def is_refused(values: Mapping[str, Any]) -> bool:
    """Return whether a rank ended because the guard refused something to it."""
    said = text_of(values, "message") + text_of(values, "traceback", 8000)
    return any(words in said for words in _REFUSED)


def refusal_text(rank: int, refusal: str) -> str:
    """Return the sentence about what the guard refused to a rank, such as `a.py:3 opens ...`."""
    return f"rank {rank}: {refusal}; submissions talk through mpi4py or torch only"


def failure_of_refusal(rank: int, refusal: str) -> RunFailure:
    """Return the failure of a rank that wanted to go around MPI and torch."""
    return RunFailure(Verdict.RULE_VIOLATION, refusal_text(rank, refusal))


def crash_of_problem(rank: int, values: Mapping[str, Any]) -> Crash:
    """Return what a rank says of the exception that ended it."""
    return Crash(
        rank,
        text_of(values, "message"),
        source=text_of(values, "source"),
        called=text_of(values, "called"),
        command=text_of(values, "command"),
    )


def failure_of_problem(
    rank: int, values: Mapping[str, Any], entry: str, hint: str = ""
) -> RunFailure:
    """Return the failure that a student's exception on `rank` stands for.

    hint: what is known of its cause beside what the exception says.
    """
    kind = values.get("kind")
    name, message = text_of(values, "type"), text_of(values, "message")
    file, line = text_of(values, "file"), values.get("line")
    where = f" at {file}:{line}" if file and type(line) is int else ""
    detail = text_of(values, "traceback", 8000)
    if kind == "not_attempted":
        return RunFailure(
            Verdict.NOT_ATTEMPTED,
            f"not attempted: {message or 'NotImplementedError'}{where}",
            is_lasting=True,
        )
    if kind == "memory":
        return RunFailure(
            Verdict.MEMORY_LIMIT_EXCEEDED,
            f"rank {rank} asked for more memory than one process may have{where}",
            detail,
        )
    if name in ("SyntaxError", "IndentationError", "TabError"):
        told = _syntax_text(
            f"{file}:{line}" if file else "a file", message, text_of(values, "source")
        )
        return RunFailure(Verdict.RUN_TIME_ERROR, told, detail, is_lasting=True)
    if name == "NotDefined":
        asks = f"{message}; the part asks for {entry}"
        return RunFailure(Verdict.RUN_TIME_ERROR, asks, is_lasting=True)
    if kind == "exit":
        return RunFailure(Verdict.RUN_TIME_ERROR, _exit_text(rank, values, message, where), detail)
    if slip := slips.told(rank, values):
        return RunFailure(Verdict.RUN_TIME_ERROR, f"{slip}; {hint}" if hint else slip, detail)
    if any(words in message for words in _NO_GPU):
        return RunFailure(
            Verdict.RUN_TIME_ERROR,
            f"rank {rank} asks for a GPU (.cuda() or device 'cuda'){where}, and there is none "
            "where this is graded; leave tensors and models on the CPU",
            detail,
        )
    asked = "" if file else f"; the part asks for {entry}"
    told = f"rank {rank} raised {name}: {message}{where}{asked}"
    return RunFailure(Verdict.RUN_TIME_ERROR, f"{told}; {hint}" if hint else told, detail)


def _syntax_text(where: str, message: str, source: str) -> str:
    """Return the sentence about a line that this Python cannot read, though a newer one may."""
    running = sys.version_info[:2]
    ours = f"Python {'.'.join(map(str, running))}"
    sign = newer_syntax(message, source, running)
    if sign is None:
        return f"{where} is not valid {ours}: {message}"
    needed = ".".join(map(str, sign.since))
    return (
        f"{where} uses syntax of Python {needed} or newer ({sign.what}); the grader runs {ours}. "
        f"{sign.remedy}"
    )


def _exit_text(rank: int, values: Mapping[str, Any], message: str, where: str) -> str:
    """Return the sentence about a program that has ended itself, and how it had been started."""
    command, said = text_of(values, "command"), text_of(values, "said")
    if said:
        return f"rank {rank}: argparse ends the program{where}: {said}; {started_as(command)}"
    started = f"; {started_as(command)}" if command else ""
    return f"rank {rank} called sys.exit({message}){where} instead of returning{started}"


def failure_of_broken_frame(rank: int, frame: Frame) -> RunFailure:
    """Return the failure of a rank that does not speak as our harness does.

    frame: one that nobody expected, or that stands for bytes that are none.
    """
    why = text_of(frame.values, "message") if frame.kind == "broken" else ""
    told = f"rank {rank} sent the judge something it cannot read"
    return RunFailure(Verdict.RUN_TIME_ERROR, f"{told}: {why}" if why else told)


def failure_of_abort(rank: int, where: str) -> RunFailure:
    """Return the failure of a rank that called MPI_Abort, which ends all ranks."""
    return RunFailure(
        Verdict.RUN_TIME_ERROR,
        f"rank {rank} called Abort at {where}, which ends all ranks without an answer",
    )


def failure_of_silence(
    rank: int,
    exit_status: int | None,
    place: tuple[str, int] | None,
    last_output: str,
    hint: str = "",
) -> RunFailure:
    """Return the failure of a rank whose process ended without an answer.

    last_output: what it printed last; where MPI itself ended it, that says why. hint: what is known
    of the cause beside.
    """
    where = f" at {place[0]}:{place[1]}" if place else ""
    how = f"its process {_end_of(exit_status)}"
    said = [
        line.strip("* ") for line in last_output.splitlines() if line.startswith("*** The MPI_")
    ]
    why = f". MPI says: {said[0].rstrip('.')}" if said else ""
    told = f"rank {rank} gave no answer: {how}{where} before it returned{why}"
    return RunFailure(Verdict.RUN_TIME_ERROR, f"{told}; {hint}" if hint else told)


def failure_of_late_crash(rank: int, exit_status: int, unfinished: str) -> RunFailure:
    """Return the failure of a rank that crashed after it had returned.

    unfinished: the call that it has left under way, if any.
    """
    why = (
        f", while MPI was still at its {unfinished}, which was never waited for: the array may be "
        "gone by then, so wait for every request before you return"
    )
    return RunFailure(
        Verdict.RUN_TIME_ERROR,
        f"the process of rank {rank} {_end_of(exit_status)} after it had returned"
        f"{why if unfinished else ''}",
    )


def _end_of(exit_status: int | None) -> str:
    if exit_status is None:
        return "ended"
    if exit_status > 128:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(exit_status - 128).name}"
    return f"ended with status {exit_status}"
