"""Files on their way between processes: a head of JSON behind its length, then their contents.

The reader packs, which has the standard library alone, and so does the client; the judge unpacks.
A message that arrives may come from anywhere.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, pairwise

from grader.intake.archives.names import problem_of, shown_text
from grader.intake.submission import (
    MAX_FILES,
    MAX_FOLDERS,
    MAX_NOT_READ,
    MAX_TOTAL_NUM_BYTES,
    Submission,
    of_files,
)
from grader.model.paths import folders_above

_LENGTH = struct.Struct(">Q")
_MAX_TEXT_NUM_BYTES = 4096
_MAX_NOTES = 200
_MAX_NAME_NUM_BYTES = 1024
_MAX_PARTS = 32
_MAX_TIME_S = 10**12
MAX_NUM_BYTES = (
    MAX_TOTAL_NUM_BYTES
    + 2 * (MAX_FILES + MAX_FOLDERS + 1) * 2 * _MAX_NAME_NUM_BYTES
    + 2 * (_MAX_NOTES + 2 * MAX_NOT_READ + 2) * _MAX_TEXT_NUM_BYTES
)
"""Of a whole message."""


@dataclass(frozen=True)
class SubmissionMessage:
    """Files, what was said of them, and why there may be none."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    not_read: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    refusal: str = ""
    """Why the submission cannot be graded; empty if it can."""
    failure: str = ""
    """How the grader's own reader failed; empty if it did not."""


class BrokenMessageError(Exception):
    """Bytes that no sender of ours would pack."""


def of_submission(submission: Submission) -> SubmissionMessage:
    """Return the message that holds a submission."""
    return SubmissionMessage(
        submission.files,
        submission.not_read,
        submission.times,
        submission.notes,
        submission.folders,
    )


def submission_of(origin: str, message: SubmissionMessage) -> Submission:
    """Return the submission in a message; its digest is computed here."""
    return of_files(
        origin, message.files, message.not_read, message.times, message.notes, message.folders
    )


def pack(message: SubmissionMessage) -> Iterator[bytes]:
    """Yield the bytes of a message in pieces."""
    said = replace(
        message,
        files={},
        not_read={_plain(name): _plain(why) for name, why in message.not_read.items()},
        notes=tuple(map(_plain, message.notes[:_MAX_NOTES])),
        folders=message.folders[:MAX_FOLDERS],
        refusal=_plain(message.refusal),
        failure=_plain(message.failure),
    )
    sizes = {name: len(content) for name, content in message.files.items()}
    head = json.dumps({"said": asdict(said), "sizes": sizes}, ensure_ascii=False).encode()
    yield _LENGTH.pack(len(head)) + head
    yield from message.files.values()


def unpack(data: bytes) -> SubmissionMessage:
    """Return the message in these bytes. Raises BrokenMessageError for what none can be."""
    import msgspec  # which the reader does without

    try:
        start = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        if start > MAX_NUM_BYTES - MAX_TOTAL_NUM_BYTES:
            raise BrokenMessageError(f"a head of {start} bytes")
        head = json.loads(data[_LENGTH.size : start])
        said = msgspec.convert(head["said"], SubmissionMessage)
        sizes = msgspec.convert(head["sizes"], dict[str, int])
    except (struct.error, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BrokenMessageError(f"no message ({type(error).__name__})") from None
    ends = list(accumulate(sizes.values(), initial=start))
    if min(sizes.values(), default=0) < 0 or ends[-1] != len(data):
        raise BrokenMessageError(f"{len(data)} bytes, which do not match the sizes of its files")
    contents = (data[begin:end] for begin, end in pairwise(ends))
    found = replace(said, files=dict(zip(sizes, contents, strict=True)))
    if wrong := next(_mistakes(found), ""):
        raise BrokenMessageError(wrong)
    return found


def _mistakes(found: SubmissionMessage) -> Iterator[str]:
    """Yield what no sender of ours packs."""
    for held, most in (
        (found.files, MAX_FILES),
        (found.folders, MAX_FOLDERS),
        (found.not_read, MAX_NOT_READ),
        (found.notes, _MAX_NOTES),
    ):
        if len(held) > most:
            yield f"{len(held)} entries where at most {most} are allowed"
    if sum(map(len, found.files.values())) > MAX_TOTAL_NUM_BYTES:
        yield "files that exceed the size limit"
    if len({*found.files, *found.folders}) < len(found.files) + len(found.folders):
        yield "a folder twice, or a folder that is also a file"
    for name in (*found.files, *found.folders):
        if _is_wrong(name):
            yield f"the invalid file name {name[:80]!r}"
        if any(folder in found.files for folder in folders_above(name)):
            yield f"{name!r} below another file"
    if not found.files.keys() >= found.times.keys():
        yield "the time of a missing file"
    if not all(0 <= time_s < _MAX_TIME_S for time_s in found.times.values()):
        yield "an impossible time"
    told = (*found.not_read, *found.not_read.values(), *found.notes, found.refusal, found.failure)
    if not all(map(_is_plain, told)):
        yield "a text that cannot be printed"


def _is_wrong(name: str) -> bool:
    """Return whether it is no plain relative name."""
    parts = name.split("/")
    is_long = len(parts) > _MAX_PARTS or len(name.encode(errors="replace")) > _MAX_NAME_NUM_BYTES
    return is_long or bool({"", ".", ".."} & set(parts) or problem_of(parts))


def _plain(text: str) -> str:
    return shown_text(text).encode()[:_MAX_TEXT_NUM_BYTES].decode(errors="ignore")


def _is_plain(text: str) -> bool:
    return text.isprintable() and len(text.encode()) <= _MAX_TEXT_NUM_BYTES
