"""The process that reads: `python -I -S <this file> UID HOW ORIGIN [WANTED...]`.

UID is the user to become, or `-` to stay; HOW is `path` to read the folder or archive ORIGIN, or
`pages` to count the pages of the PDF that standard input brings (then WANTED is where the installed
packages are). Answers on standard output: READY once it is that user, then a message.
"""

import contextlib
import importlib
import io
import os
import resource
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from grader.intake import submission as submissions
from grader.intake import submission_codec
from grader.intake.answer import MEMORY_NUM_BYTES, NOT_CONFINED, OUT_OF_MEMORY, READY
from grader.intake.submission_codec import SubmissionMessage
from grader.model.errors import UsageError


def main() -> None:
    """Become nobody, read, answer."""
    uid, how, origin, *wanted = sys.argv[1:]
    try:
        if uid != "-":
            _become(int(uid))
    except PermissionError:
        os._exit(NOT_CONFINED)
    with contextlib.suppress(ValueError, OSError):  # there is a lower limit, or no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NUM_BYTES, MEMORY_NUM_BYTES))
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    try:
        found = _read(how, origin, wanted)
        for piece in submission_codec.pack(found):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _read(how: str, origin: str, wanted: list[str]) -> SubmissionMessage:
    try:
        if how == "path":
            return submission_codec.of_submission(submissions.read(Path(origin), wanted))
        return SubmissionMessage(notes=(str(_num_pages(origin, sys.stdin.buffer.read(), *wanted)),))
    except UsageError as error:
        return SubmissionMessage(refusal=str(error))
    except MemoryError:
        raise
    except Exception as error:
        return SubmissionMessage(failure=f"{type(error).__name__}: {error}")


def _num_pages(name: str, content: bytes, packages: str) -> int:
    sys.path.append(packages)
    pypdf = importlib.import_module("pypdf")
    try:
        return len(pypdf.PdfReader(io.BytesIO(content)).pages)
    except MemoryError:
        raise
    except Exception as error:
        raise UsageError(f"{name} cannot be read as a PDF: {type(error).__name__}") from None


main()
