"""The sentence about a rank that gave no answer: what it raised, or how its process ended."""

import builtins
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.judge.explanation.crash_hints import Crash, started_as
from grader.judge.explanation.newer_syntax import newer_syntax
from grader.model.finding import Fact, Finding, found
from grader.model.report import RunFailure, Verdict
from grader.recording.observation import RankEnd
from grader.trace.functions import (
    BLOCKING_COLLECTIVES,
    BLOCKING_POINT_TO_POINT,
    NONBLOCKING_POINT_TO_POINT,
)

_MAX_CHARS = 600
_SENDS_AND_RECEIVES = sorted(
    BLOCKING_POINT_TO_POINT | NONBLOCKING_POINT_TO_POINT | BLOCKING_COLLECTIVES
)


def text_of(values: Mapping[str, Any], name: str, length: int = _MAX_CHARS) -> str:
    """Return a text among the values, up to a length; empty where it is none."""
    value = values.get(name)
    return value[:length] if isinstance(value, str) else ""


_LOST_CONNECTION = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")
_REFUSED = (
    "submissions must communicate through mpi4py or torch only",
    "MPI_ERR_UNSUPPORTED_OPERATION",
    "[Errno 1] Operation not permitted",
)
"""What the guard's exceptions say, those of MPI functions that it refuses, and that of mmap."""
_CALLS_PROBE = "_answer"
"""The function of a rank that calls the probe: what raises there is no argument of a student's."""
_NO_GPU = ("Torch not compiled with CUDA", "No CUDA GPUs are available", "no NVIDIA driver")
"""What torch says to a program that asks for a GPU where there is none."""


def is_lost_connection(values: Mapping[str, Any]) -> bool:
    """Return whether a rank only says that another one went away."""
    return any(words in text_of(values, "message") for words in _LOST_CONNECTION)


def is_refused(values: Mapping[str, Any]) -> bool:
    """Return whether a rank ended because the guard refused something to it."""
    said = text_of(values, "message") + text_of(values, "traceback", 8000)
    return any(words in said for words in _REFUSED)


def refusal_text(rank: int, refusal: str) -> str:
    """Return the sentence about what the guard refused to a rank, such as `a.py:3 opens ...`."""
    return f"rank {rank}: {refusal}; submissions must communicate through mpi4py or torch only"


def failure_of_refusal(rank: int, refusal: str) -> RunFailure:
    """Return the failure of a rank that wanted to go around MPI and torch."""
    facts: dict[str, Fact] = {"rank": rank, "refusal": refusal}
    told = Finding("rule.refused_by_guard", refusal_text(rank, refusal), facts)
    return RunFailure.of(Verdict.RULE_VIOLATION, told, kind=refusal, place=f"rank {rank}")


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
    rank: int, values: Mapping[str, Any], entry: str, hint: str = "", *, python: tuple[int, int]
) -> RunFailure:
    """Return the failure that a student's exception on `rank` stands for."""
    failure = _told(rank, values, entry, hint, python)
    kind = text_of(values, "kind")
    if kind != "memory":  # of which Python says how much it was
        raised = (text_of(values, name) for name in ("type", "message", "said"))
        kind = ": ".join(filter(None, (kind, *raised)))
    line = values.get("line")
    where = f"{text_of(values, 'file')}:{line if type(line) is int else ''}"
    return replace(failure, kind=kind, place=f"rank {rank} {where}")


def _told(
    rank: int, values: Mapping[str, Any], entry: str, hint: str, python: tuple[int, int]
) -> RunFailure:
    kind = values.get("kind")
    name, message = text_of(values, "type"), text_of(values, "message")
    file, line = text_of(values, "file"), values.get("line")
    place = f"{file}:{line}" if file and type(line) is int else ""
    where = f" at {place}" if place else ""
    detail = text_of(values, "traceback", 8000)
    facts: dict[str, Fact] = {"rank": rank, "place": place, "type": name, "message": message}
    facts |= {key: values[key] for key in ("column", "num_columns") if type(values.get(key)) is int}

    def crash(key: str, text: str, helps: str = "", **more: Any) -> RunFailure:
        return RunFailure.of(Verdict.RUN_TIME_ERROR, Finding(key, text, facts, helps), **more)

    if name == "TypeError" and not place and text_of(values, "called") == _CALLS_PROBE:
        text = (
            f"the suite calls its probe with the wrong arguments: {message}; the case's inputs() "
            "must return the probe's arguments"
        )
        return RunFailure.of(Verdict.JUDGE_ERROR, Finding("", text), detail=detail)
    if kind == "not_attempted":
        quoted = f'("{message}")' if message else ""
        text = f"the code raises NotImplementedError{quoted}{where}"
        told = Finding("not_attempted", text, facts)
        return RunFailure.of(Verdict.NOT_ATTEMPTED, told, is_lasting=True)
    if kind == "memory":
        text = f"rank {rank} asked{where} for more memory than one process may have"
        told = Finding("limit.memory_of_process", text, facts)
        return RunFailure.of(Verdict.MEMORY_LIMIT_EXCEEDED, told, detail=detail)
    if name in ("SyntaxError", "IndentationError", "TabError"):
        text = _syntax_text(place or file or "a file", message, text_of(values, "source"), python)
        return crash("crash.syntax", text, detail=detail, is_lasting=True)
    if name == "NotDefined":
        return crash("crash.not_defined", f"{message}; this part requires {entry}", is_lasting=True)
    if kind == "exit":
        return crash("crash.exit", _exit_text(rank, values, message, where), detail=detail)
    if slip := slip_text(rank, values):
        return crash("crash.slip", slip, hint, detail=detail)
    if any(words in message for words in _NO_GPU):
        text = f"rank {rank} asked for a GPU (.cuda() or device 'cuda'){where}; the grader has none"
        return crash("crash.gpu", text, "leave tensors and models on the CPU", detail=detail)
    asked = "" if file else f"; this part requires {entry}"
    text = f"rank {rank} raised {name}: {message}{where}{asked}"
    meant = _as_in_mpi(message) or text_of(values, "meant")
    if meant.isidentifier() and not hint:
        facts["meant"] = meant
        hint = f"did you mean {meant}?"
    return crash(f"crash.{_words(name)}", text, hint, detail=detail)


def _as_in_mpi(message: str) -> str:
    """Return the name of MPI that has the same letters as what a communicator lacks, or nothing.

    Of Isend and isend, the one in which more letters agree.
    """
    lacked = re.search(r"mpi4py\.MPI\.\w*comm' .* has no attribute '(\w+)'", message)
    if not lacked:
        return ""
    name = lacked[1]
    same = [each for each in _SENDS_AND_RECEIVES if each.lower() == name.lower() != each]
    return max(same, key=lambda each: sum(map(str.__eq__, each, name)), default="")


def _words(name: str) -> str:
    """Return `name_error` for NameError; `raised` for what is no exception of Python's own."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        return "raised"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _syntax_text(where: str, message: str, source: str, running: tuple[int, int]) -> str:
    """Return the sentence about a line that this Python cannot read, though a newer one may."""
    ours = f"Python {'.'.join(map(str, running))}"
    sign = newer_syntax(message, source, running)
    if sign is None:
        return f"{where} is not valid {ours}: {message}"
    needed = ".".join(map(str, sign.since))
    return (
        f"{where} uses syntax from Python {needed} or newer ({sign.what}); the grader runs {ours}. "
        f"{sign.remedy}"
    )


def _exit_text(rank: int, values: Mapping[str, Any], message: str, where: str) -> str:
    """Return the sentence about a program that has ended itself, and how it had been started."""
    command, said = text_of(values, "command"), text_of(values, "said")
    if said:
        return f"rank {rank}: argparse stopped the program{where}: {said}; {started_as(command)}"
    started = f"; {started_as(command)}" if command else ""
    return f"rank {rank} called sys.exit({message}){where} instead of returning{started}"


def failure_of_broken_message(rank: int, why: str) -> RunFailure:
    """Return the failure of a rank that does not speak as our harness does.

    why: what is wrong with its bytes, where they are no message at all.
    """
    told = f"the grader received an unreadable message from rank {rank}"
    told = f"{told}: {why}" if why else told
    return RunFailure.of(
        Verdict.RUN_TIME_ERROR,
        Finding("crash.unreadable_message", told, {"rank": rank}),
        kind=f"unreadable {why}",
        place=f"rank {rank}",
    )


def failure_of_abort(rank: int, where: str) -> RunFailure:
    """Return the failure of a rank that called MPI_Abort, which ends all ranks."""
    told = found(
        "crash.abort",
        f"rank {rank} called Abort at {where}, which stopped all ranks without a result",
        rank=rank,
        place=where,
    )
    return RunFailure.of(Verdict.RUN_TIME_ERROR, told, kind="Abort", place=f"rank {rank} {where}")


def failure_of_silence(rank: int, end: RankEnd, last_output: str, hint: str = "") -> RunFailure:
    """Return the failure of a rank whose process ended without an answer."""
    where = f" at {end.place[0]}:{end.place[1]}" if end.place else ""
    how = f"its process {_end_of(end)}"
    said = [
        line.strip("* ") for line in last_output.splitlines() if line.startswith("*** The MPI_")
    ]
    why = f". MPI says: {said[0].rstrip('.')}" if said else ""
    told = f"rank {rank} produced no result: {how}{where} before it returned{why}"
    facts: dict[str, Fact] = {
        "rank": rank,
        "signal": end.signal or "",
        "place": where.removeprefix(" at "),
    }
    return RunFailure.of(
        Verdict.RUN_TIME_ERROR,
        Finding("crash.process_ended", told, facts, hint),
        kind=f"{end.signal or end.exit_status}{why}",
        place=f"rank {rank}{where}",
    )


def failure_of_late_crash(rank: int, end: RankEnd, unfinished: str) -> RunFailure:
    """Return the failure of a rank that crashed after it had returned."""
    why = (
        f". Likely: the rank never waited for its {unfinished}, and MPI was still using the "
        "array; wait for every request before you return"
    )
    text = f"rank {rank}'s process {_end_of(end)} after the rank had returned"
    told = found("crash.after_return", f"{text}{why if unfinished else ''}", rank=rank)
    return RunFailure.of(
        Verdict.RUN_TIME_ERROR, told, kind=f"{end.signal} after return", place=f"rank {rank}"
    )


def _end_of(end: RankEnd) -> str:
    if end.signal:
        return f"was killed by {end.signal}"
    return "ended" if end.exit_status is None else f"ended with status {end.exit_status}"


_MAX_NAMES, _MAX_NAME_CHARS = 10, 40
MAX_REMARKS = 20
_MAX_LOOKED_AT_NUM_BYTES = 1 << 20
"""Of a file whose lines are remarked on."""
_MAX_LINE_NUM_BYTES = 1000
_REMARKS = {
    "breakpoint": "calls breakpoint(), which does nothing here",
    "system": "calls os.system(), which cannot start a program here",
    "subprocess": "uses subprocess, which cannot start a program here",
    "import": (
        "imports {}, which is not installed here; this costs no points unless a line uses it"
    ),
    "failed_import": "imports {}, which fails here; this costs no points unless a line uses it",
}
"""What a rank may remark on a line, by kind."""
_WORDS = {
    "breakpoint": b"breakpoint",
    "system": b"system",
    "subprocess": b"subprocess|run|call|Popen",
}
_NOBODY_TYPES = {
    ("BdbQuit", ""): "starts the debugger pdb, but there is no keyboard here; remove the line",
    ("EOFError", "EOF when reading a line"): (
        "calls input(), but there is no keyboard here; write the value into the code instead"
    ),
}
"""By type and message of an exception: what the line does that raised it."""


def slip_text(rank: int, values: Mapping[str, Any]) -> str:
    """Return the sentence about an exception that a slip raised; empty for all others."""
    name, message = text_of(values, "type"), text_of(values, "message")
    file, line = text_of(values, "file"), values.get("line")
    where = f"rank {rank}: {file}:{line}" if file and type(line) is int else ""
    if imported_at := text_of(values, "imported_at"):
        user = where or f"rank {rank}: the graded code"
        if name != "ModuleNotFoundError":
            return f"{user} uses the import at {imported_at}, which fails here: {message}"
        package = message.partition("'")[2].partition("'")[0]
        return f"{user} uses {package} (imported at {imported_at}), which is not installed here"
    if where and (name, message) in _NOBODY_TYPES:
        return f"{where} {_NOBODY_TYPES[name, message]}"
    if where and (missing := text_of(values, "missing")):
        return (
            f"{where} opens {missing!r}, which does not exist. The working folder contains "
            f"{_listed(values.get('there'))}; your submitted files are not in it"
        )
    return ""


def _listed(names: object) -> str:
    named = names[:_MAX_NAMES] if isinstance(names, list) else []
    texts = (name[:_MAX_NAME_CHARS] for name in named if isinstance(name, str))
    return ", ".join(texts) or "nothing"


def remarks_of(values: Mapping[str, Any], submission: Mapping[str, bytes]) -> list[Finding]:
    """Return what a rank remarks on lines of the submission.

    values: what it sent. submission: its files. What a line does not bear out is left out, since
    a rank can say anything.
    """
    sent = values.get("remarks")
    told = []
    lines: dict[str, list[bytes]] = {}
    for remark in sent[:MAX_REMARKS] if isinstance(sent, list) else []:
        if not isinstance(remark, list) or [type(each) for each in remark] != [str, str, str, int]:
            continue
        kind, about, file, line = remark
        content = submission.get(file, b"")
        if kind not in _REMARKS or not line > 0 or len(content) > _MAX_LOOKED_AT_NUM_BYTES:
            continue
        if file not in lines:
            lines[file] = content.splitlines()
        text = lines[file][line - 1] if line <= len(lines[file]) else b""
        if _bears_out(text, kind, about):
            place = f"{file}:{line}"
            text = f"{place} {_REMARKS[kind].format(about)}"
            told.append(found(f"remark.{kind}", text, about=about, place=place))
    return told


def _bears_out(line: bytes, kind: str, about: str) -> bool:
    """Return whether a line does what a rank remarks on it."""
    if kind in _WORDS:
        return not about and re.search(_WORDS[kind], line[:_MAX_LINE_NUM_BYTES]) is not None
    is_name = about.isidentifier() and len(about) <= _MAX_NAME_CHARS
    statement = rb"\b(?:import|from)\b[^#]*\b" + re.escape(about.encode()) + rb"\b"
    return is_name and re.search(statement, line[:_MAX_LINE_NUM_BYTES]) is not None
