"""What is fuzzed: each target takes bytes to a parser, and only its documented errors may come out.

A target is given as few bytes as it takes to reach the parser, so that a saved input repeats a
crash wherever it was found.
"""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import socket
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import observations

from grader.course import assignment as assignments
from grader.intake import notebook, submission_codec
from grader.intake import submission as submissions
from grader.intake.answer import READY, message_in
from grader.intake.submission import Submission
from grader.intake.submission_codec import BrokenMessageError, SubmissionMessage
from grader.judge.explanation.crash_messages import failure_of_problem
from grader.judge.explanation.launch_result import explain
from grader.judge.values.result_forms import refuse
from grader.model.errors import GraderError, UsageError
from grader.model.finding import Finding
from grader.model.points import MAX_POINTS
from grader.model.report import (
    Array,
    Feedback,
    ManualPart,
    PartResult,
    Report,
    RunFailure,
    TestResult,
    Text,
    Verdict,
    Versions,
)
from grader.observe.forkserver.mpirun_placeholders import allowed_environment
from grader.observe.interposer.memory import TraceMemory
from grader.observe.interposer.records import Copy, calls_of
from grader.observe.run_control.rank_messages import FrameReader, ProtocolError
from grader.observe.run_control.rank_messages import encode as encode_frame
from grader.rank import wire as rank_wire
from grader.recording import journal
from grader.recording.codec import decode, encode
from grader.recording.recording import Header, RecordedLaunch, Recording, read, write
from grader.recording.replay import observation_of
from grader.report import json_report
from grader.sealed.container import stream_demux as container_output
from grader.trace import layout

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    """One parser."""

    name: str
    take: Callable[[bytes], object]
    """Parses the bytes and uses what comes out; any error that is not documented is a crash."""
    documented: tuple[type[Exception], ...]
    """All that may be raised."""
    seeds: Callable[[], Sequence[bytes]]
    """Inputs to begin with, most of them valid."""
    is_guided: bool = False
    """By the branches that an input reaches, too (guided.py names the modules)."""

    def check(self, data: bytes) -> None:
        """Raise what the parser raises, unless that is documented."""
        with contextlib.suppress(*self.documented):
            self.take(data)


# The judge's end of the wire.


def _judge_wire(data: bytes) -> None:
    reader = FrameReader()
    size = 1 + data[0] if data else 1
    for start in range(1, len(data), size * 16):
        for frame in reader.feed(data[start : start + size * 16]):
            refuse(0, {"a": Array("<f8", (None,)), "t": Text(10)}, frame.values, frame.arrays)
            failure_of_problem(0, frame.values, "f()", python=(3, 11))


def _frames() -> list[bytes]:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((0, 4), "<i8")}
    problem = {"kind": "error", "type": "ValueError", "message": "m", "file": "a.py", "line": 3}
    frames = [
        b"".join(encode_frame("hello", {"rank": 0}, {})),
        b"".join(encode_frame("result", {"texts": {"t": "x"}}, arrays)),
        b"".join(encode_frame("problem", problem, {})),
    ]
    deep = b'{"kind":"x","values":' + b"[" * 5000 + b"]" * 5000 + b',"arrays":[]}'
    return [b"\x07" + each for each in (*frames, b"".join(frames), _framed(deep))]


def _framed(head: bytes) -> bytes:
    return struct.pack(">I", len(head)) + head


# Recordings, which may come from anywhere.


def _recorded_launch(data: bytes) -> None:
    for backend in ("mpi", "torch"):
        plan = observations.plan(backend)
        found = observation_of(plan, RecordedLaunch({}, "", data))
        assert encode(decode(encode(found))) == encode(found)
        explain(plan, found)


def _recorded_launches() -> list[bytes]:
    return list(map(encode, observations.observations().values()))


def _recording(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        read(Path(file.name), bytes(32))


def _recordings() -> list[bytes]:
    header = Header("0123", "sealed", {"python": "3.11"}, "ab", "mpi_sgd", "bundled", "cd")
    launch = RecordedLaunch({"ranks": "1f"}, "the launch of 2 ranks", b"observed")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.rec"
        write(file, Recording(header, {"key": launch}), bytes(32))
        return [file.read_bytes()]


# The ranks' end: what they write, the judge reads; what the judge writes, they read.


def _both_ends(data: bytes) -> None:
    arrays = dict(_arrays_in(data))
    values = {"text": data[:64].decode("latin-1"), "numbers": list(data[:8])}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(10)
        rank_wire.send(ours, "result", values, arrays)
        (frame,) = FrameReader().feed(_all_of(theirs, ours))
        assert (frame.kind, frame.values) == ("result", values)
        _require_equal(frame.arrays, arrays)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(10)
        ours.sendall(b"".join(encode_frame("case", values, arrays)))
        kind, told, received = rank_wire.receive(theirs)
        assert (kind, told) == ("case", values)
        _require_equal(received, arrays)


def _require_equal(found: Any, expected: Any) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def _all_of(reading: socket.socket, writing: socket.socket) -> bytes:
    writing.shutdown(socket.SHUT_WR)
    return b"".join(iter(lambda: reading.recv(1 << 16), b""))


_DTYPES = ("?", "<i1", "<i2", "<i8", "<u4", "<f2", "<f4", "<f8", "<c8", "<c16")


def _arrays_in(data: bytes) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield arrays of any type and shape that the bytes describe."""
    stream = io.BytesIO(data)
    for number in range(4):
        head = stream.read(3)
        if len(head) < 3:
            return
        dtype = np.dtype(_DTYPES[head[0] % len(_DTYPES)])
        shape = tuple(byte % 5 for byte in head[1:])[: head[0] % 3]
        num_bytes = dtype.itemsize * int(np.prod(shape, dtype=int))
        content = stream.read(num_bytes).ljust(num_bytes, b"\1")
        yield f"array {number}", np.frombuffer(content, dtype).reshape(shape)


# What an interposer, or a student in its place, leaves in the memory of a trace.

_NUM_RECORDS = 8
_NUM_WAITS = _NUM_RECORDS * layout.WAITS_PER_RECORD
_NUM_KEPT = layout.NAMES_NUM_BYTES // layout.NAME_NUM_BYTES
"""Overwritten records that are kept: one of each function."""
_NUM_WORDS = len(layout.HEADER_WORDS)
_HEADER_NUM_BYTES = 8 * _NUM_WORDS


def _trace_records(data: bytes) -> None:
    numbers = struct.unpack("<7q", data[:56].ljust(56, b"\0"))
    item = layout.RECORD.itemsize
    rest = data[56:]
    num_records = min(len(rest) // item, _NUM_RECORDS)
    waits, names = rest[: 8 * (len(rest) // 8)][-64:], rest[-100:]
    wanted, first, head, _, waits_reserved, oldest, oldest_wait = numbers
    calls, _ = calls_of(
        Copy(
            # What the reader itself computes holds whatever a rank writes.
            wanted=abs(wanted),
            first=abs(first),
            head=head,
            num_waits=max(len(waits) // 8, 1),
            waits_reserved=min(abs(waits_reserved), len(waits) // 8),
            oldest=oldest,
            oldest_wait=oldest_wait,
            records=rest[: num_records * item],
            waits=waits,
            names=names,
        )
    )
    assert all(name.isprintable() for call in calls for name in (call.function, call.file))


class _Changing:
    """Header words that a rank changes between any two looks at them."""

    def __init__(self, words: memoryview, values: Sequence[int]) -> None:
        self._words = words
        self._values = values
        self._num_looks = 0

    def __getitem__(self, index: int) -> int:
        self._num_looks += 1
        if not self._values or self._num_looks % 3 == 0:
            return int(self._words[index])
        return self._values[self._num_looks % len(self._values)]

    def release(self) -> None:
        self._words.release()


def _trace_memory(data: bytes) -> None:
    with TraceMemory.create(_NUM_RECORDS) as memory:
        nonce = memory._word("nonce")
        header = data[:_HEADER_NUM_BYTES]
        changes = data[_HEADER_NUM_BYTES : _HEADER_NUM_BYTES + 32]
        content = data[_HEADER_NUM_BYTES + 32 :]
        memory._map[: len(header)] = header
        place = layout.HEADER_NUM_BYTES
        memory._map[place : place + len(content)] = content[: len(memory._map) - place]
        end = len(memory._map)
        memory._map[max(place, end - len(content)) :] = content[-(end - place) :]
        if header[8:16] == b"\1" * 8:
            memory._set("echoed_nonce", nonce)
        values = struct.unpack(f"<{len(changes) // 8}Q", changes[: len(changes) // 8 * 8])
        _read_all(memory)
        memory._words = _Changing(memory._words, values)  # type: ignore[assignment]
        _read_all(memory)


def _read_all(memory: TraceMemory) -> None:
    memory.snapshot()
    for since in (0, 3, 1 << 70):
        trace = memory.read(since)
        assert len(trace.calls) <= _NUM_RECORDS + _NUM_KEPT
        assert all(isinstance(call.sequence, int) for call in trace.calls)


def _records() -> list[bytes]:
    records = np.zeros(3, layout.RECORD)
    records["stamp"] = [1, 2, 3]
    records["num_waits"] = [0, 2, 1 << 31]
    records["function"] = [0, 5, 1 << 31]
    head = struct.pack("<7q", 0, 0, 3, 32, 4, -5, -28)
    return [head + records.tobytes() + b"Send\0Recv\0" + bytes(64), head, bytes(700)]


def _memories() -> list[bytes]:
    def header(**words: int) -> bytes:
        values = {"rank_magic": layout.RANK_MAGIC, "abi_version": layout.ABI_VERSION, **words}
        return struct.pack(
            f"<{_NUM_WORDS}Q", *(values.get(name, 0) for name in layout.HEADER_WORDS)
        )

    records = np.zeros(_NUM_RECORDS, layout.RECORD)
    records["stamp"] = np.arange(_NUM_RECORDS) + 1
    records["num_waits"] = 1
    changes = struct.pack("<4Q", 1, 5, (1 << 64) - 1, 1 << 63)
    small = header(num_reserved=5, num_published=5, num_threads=1, nonce=0x0101010101010101)
    huge = header(**dict.fromkeys(layout.HEADER_WORDS, (1 << 64) - 1))
    wrapped = header(num_reserved=100, num_published=100, num_waits_reserved=400, inside=100)
    return [each + changes + records.tobytes() for each in (small, huge, wrapped)]


# What a container says, and the report in it.


class _Pieces:
    """A connection that delivers the bytes in pieces of changing size."""

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def recv(self, max_num_bytes: int, patience_s: float, /) -> bytes:
        return self._stream.read(min(max_num_bytes, 1 + self._stream.tell() % 13))


def _container_output(data: bytes) -> None:
    lines: list[str] = []
    output = container_output.listen(_Pieces(data), lines.append, lambda line: None, lambda: 1.0)
    assert all(line.isprintable() for line in [*lines, *output.errors])


def _said() -> list[bytes]:
    def piece(stream: int, content: bytes) -> bytes:
        return bytes([stream, 0, 0, 0]) + struct.pack(">I", len(content)) + content

    progress = piece(2, b"part: starting\npart: \xff\x1b[31m\n") + piece(2, b"grade: it is empty\n")
    return [progress + piece(1, b'{"a": 1}'), piece(2, b"\r\r\n" * 5), piece(1, b"")]


def _json_report(data: bytes) -> None:
    report = json_report.parse(data)
    assert json.loads(json_report.render(report)) == json.loads(data)


def _reports() -> list[bytes]:
    found = Finding("p.wrong", "no", {"place": "a.py:3", "ranks": (0, 1), "factor": 0.5}, "look")
    test = TestResult("test_a", "It holds.", Verdict.WRONG_ANSWER, 0, 2, "no", "d", "ranks=4")
    tests = (replace(test, findings=(found,), blocked_by=("test_b",), case="2 ranks"),)
    parts = (
        PartResult("p", "P", Verdict.WRONG_ANSWER, 0, 2, "no", tests, (found,), 1.5, 2),
        PartResult("q", "Q", Verdict.JUDGE_ERROR, 0.5, 2.25, "", ()),
    )
    report = Report(
        assignment="a",
        title="A",
        submission="dir",
        submission_digest="0" * 64,
        mode="local",
        parts=parts,
        manual_parts=(ManualPart("m", "M", 10, "nothing"),),
        versions=Versions("0", "e", "c", "d", "l", {"numpy": "2"}),
        wall_time_s=1.0,
        started_at="2025-01-01T00:00:00Z",
    )
    return [json_report.render(report).encode(), b"[" * 5000, b'{"schema_version": 1e999}']


# Files of a course, and of a student.


def _assignment_file(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a", "assignment.toml")
        file.parent.mkdir()
        file.write_bytes(data)
        for name in _suite_files():
            (file.parent / name).parent.mkdir(parents=True, exist_ok=True)
            (file.parent / name).touch()
        found = assignments.read(
            file.parent,
            reference=file,
            template=file,
            course="c",
            feedback=Feedback.ALL,
            hidden_feedback=Feedback.VERDICT,
        )
        assert all(isinstance(name, str) for name in found.handed_in)
        assert isinstance(found.accepted_names, dict)
        assert all(0 <= part.points <= MAX_POINTS for part in found.parts)


@cache
def _suite_files() -> frozenset[str]:
    """Return the paths in their folders of all files that an assignment.toml may name."""
    suites = ROOT / "tests" / "suites"
    return frozenset(
        file.relative_to(folder).as_posix()
        for folder in suites.iterdir()
        for file in folder.rglob("*.py")
    )


def _assignment_files() -> list[bytes]:
    # Without its own name: it is read as that of a folder called `a`.
    files = sorted(ROOT.glob("tests/suites/*/assignment.toml"))
    return [re.sub(rb"(?m)^name = .*$", b"", file.read_bytes(), count=1) for file in files]


def _notebook(data: bytes) -> None:
    for name in notebook.read(data).files:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert name.isprintable()


def _notebooks() -> list[bytes]:
    def of(*sources: object) -> bytes:
        cells = [{"cell_type": "code", "source": source} for source in sources]
        return json.dumps({"cells": cells}).encode()

    return [
        of("%%writefile a.py\nx = 1", ["%%file -a 'b c/d.py'\n", "y"]),
        of("%%writefile ../a.py\nx", "%%writefile /content/a.py\n\ud800", 'x"', "%%writefile 'a"),
        b'{"cells": [{"cell_type": "code", "source": null}]}',
    ]


# What a stub, or a student in its place, tells the forkserver.


_FOLDERS = (Path("/nowhere/of-a-run"),)


def _stub_environment(data: bytes) -> None:
    for name, value in allowed_environment(data, _FOLDERS).items():
        assert name.startswith(("OMPI_", "OPAL_", "PMIX_", "PRTE_"))
        assert "\0" not in name + value
        # Several slashes are one, and a list of paths begins with its first.
        path = os.path.realpath(re.split(r"[\s:;,]", value)[0])
        assert not value.startswith("/") or path.startswith("/nowhere/of-a-run")


def _stub_environments() -> list[bytes]:
    return [
        b"OMPI_COMM_WORLD_RANK=1\0PMIX_RANK=1\0PATH=/bin\0LD_PRELOAD=x",
        b"\0OPAL_PREFIX=//nowhere/of-a-run",
        b"OMPI_COMM_WORLD_RANK=\xff\0PMIX_=\0=\0\0PRTE_PREFIX=/nowhere/of-a-run/x\0PRTE_A=b=c",
        b"PMIX_SERVER_URI41=n.1;tcp4://127.0.0.1:80:/nowhere/../bin\0PMIX_PREFIX=/x\0OPAL_PREFIX=/",
    ]


# What is handed in, in any archive, and what the process that reads it answers.

_WANTED = ("ring.py", "part1/main.py")


def _archive(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "it")
        file.write_bytes(data)
        _require_plain(submissions.read(file, _WANTED))


def _require_plain(found: Submission) -> None:
    assert all(text.isprintable() for text in (*found.notes, *found.not_read.values()))
    submission_codec.unpack(b"".join(submission_codec.pack(submission_codec.of_submission(found))))


def _archives() -> list[bytes]:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ring.py", "x = 1\n" * 9)
        archive.writestr("part1/main.py", "")
        archive.writestr("all.ipynb", _notebooks()[0])
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("sync.py", "")
        archive.writestr("code.zip", zipped.getvalue())
    tars = [_tar(form) for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)]
    packed = [pack(tars[0]) for pack in (gzip.compress, bz2.compress, lzma.compress)]
    return [zipped.getvalue(), outer.getvalue(), *tars, *packed]


def _tar(form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, kind in (("ring.py", tarfile.REGTYPE), ("x" * 90 + ".py", tarfile.SYMTYPE)):
            info = tarfile.TarInfo(name if form == tarfile.USTAR_FORMAT else name + "\u00e4")
            info.type, info.linkname, info.size = kind, "ring.py", 3 * (kind == tarfile.REGTYPE)
            archive.addfile(info, io.BytesIO(b"x=1"))
    return buffer.getvalue()


def _parcel(data: bytes) -> None:
    sent = submission_codec.unpack(data)
    _require_plain(submission_codec.submission_of("it", sent))


def _parcels() -> list[bytes]:
    files = {"ring.py": b"x", "part1/main.py": b"", "all.ipynb/a.py": b"1"}
    full = SubmissionMessage(files, {"a.bin": "is large"}, {"ring.py": 7}, ("a note",))
    return [
        b"".join(submission_codec.pack(each))
        for each in (full, SubmissionMessage(refusal="it is empty"))
    ]


def _intake_answer(data: bytes) -> None:
    exit_code = (0, None, -9, 64)[data[0] % 4] if data else 1
    found = message_in("it", READY[: data[1] if data[1:] else None] + data[2:], exit_code)
    _require_plain(submission_codec.submission_of("it", found))


def _intake_answers() -> list[bytes]:
    return [
        b"\0\xff" + each
        for each in (*_parcels(), b"".join(submission_codec.pack(SubmissionMessage(failure="x"))))
    ]


# The journal of a grading, as a container tells it, and as a client hands it on.

_KEY = "0123456789abcdef"


def _journal_line(data: bytes) -> None:
    told = journal.parse(data.decode(errors="replace"), _KEY)
    assert told is None or isinstance(told, journal.Step | journal.Finished)


def _resume(data: bytes) -> None:
    resume = journal.read(io.BytesIO(struct.pack(">Q", len(data)) + data))
    assert journal.read(io.BytesIO(journal.pack(resume))) == resume


def _finished() -> journal.Finished:
    step = journal.Step("ring", "test_ring.py", "", "test_a")
    result = TestResult("test_a", "It holds.", Verdict.WRONG_ANSWER, 0, 2, "no", "d", "ranks=4")
    return journal.Finished(step, result, "", RunFailure(Verdict.DEADLOCK, "it waits"), 3)


def _journal_lines() -> list[bytes]:
    lines: list[str] = []
    told = journal.Journal(journal.Resume(key=_KEY), lines.append)
    told.started(_finished().step)
    told.finished(_finished())
    infinite = [line.replace('"num_launches": 3', '"num_launches": 1e999') for line in lines]
    return [line.removeprefix(journal.PREFIX).encode() for line in (*lines, *infinite)]


def _resumes() -> list[bytes]:
    full = journal.Resume(
        _KEY, (_finished(),), ((_finished().step, "it was lost"),), "", ("a note",)
    )
    return [journal.pack(each)[8:] for each in (full, journal.Resume(_KEY))]


TARGETS = {
    target.name: target
    for target in (
        Target("judge_wire", _judge_wire, (ProtocolError,), _frames, is_guided=True),
        Target("recorded_launch", _recorded_launch, (GraderError,), _recorded_launches),
        Target("recording", _recording, (GraderError,), _recordings),
        Target("both_ends", _both_ends, (), _frames),
        Target("trace_records", _trace_records, (), _records, is_guided=True),
        Target("trace_memory", _trace_memory, (), _memories, is_guided=True),
        Target("container_output", _container_output, (GraderError,), _said),
        Target("json_report", _json_report, (GraderError,), _reports),
        Target("assignment_file", _assignment_file, (GraderError, UsageError), _assignment_files),
        Target("notebook", _notebook, (), _notebooks),
        Target("stub_environment", _stub_environment, (), _stub_environments),
        Target("archive", _archive, (UsageError,), _archives),
        Target("message", _parcel, (BrokenMessageError, UsageError), _parcels),
        Target("intake_answer", _intake_answer, (GraderError, UsageError), _intake_answers),
        Target("journal_line", _journal_line, (), _journal_lines),
        Target("resume", _resume, (UsageError,), _resumes),
    )
}
"""All of them, with the errors that each documents, by name."""
