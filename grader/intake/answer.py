"""What the reading process answered, or how it ended: a submission, or one sentence."""

import signal

from grader.intake import submission_codec
from grader.intake.submission_codec import SubmissionMessage
from grader.model.errors import GraderError, UsageError

READY = b"grader intake 1\n"
"""What the reading process says first; a failure before that is our fault."""
OUT_OF_MEMORY = 64
"""Its exit code when it has no memory left."""
NOT_CONFINED = 65
"""And when it may not give up its rights."""
DEADLINE_S = 120.0
MEMORY_NUM_BYTES = 1 << 30
MAX_NUM_BYTES = len(READY) + submission_codec.MAX_NUM_BYTES


def message_in(origin: str, answer: bytes, exit_code: int | None) -> SubmissionMessage:
    """Return what was read.

    exit_code: negative for a signal, None when the process did not end in time. Raises UsageError
    when the submission is the reason that nothing was read, GraderError when the reader is.
    """
    if not answer.startswith(READY):
        if exit_code == NOT_CONFINED:
            raise GraderError(
                "the submission reader cannot switch to another user; start the container "
                "with --cap-add SETUID --cap-add SETGID --cap-add KILL"
            )
        raise GraderError(
            f"{origin} cannot be read: the submission reader did not start ({_ended(exit_code)})"
        )
    if exit_code != 0:
        raise _refusal(origin, _ended(exit_code))
    try:
        found = submission_codec.unpack(answer[len(READY) :])
    except submission_codec.BrokenMessageError as error:
        raise _refusal(origin, f"the submission reader sent a broken answer: {error}") from None
    if found.failure:
        raise GraderError(
            f"{origin} could not be read: {found.failure}. The grader failed; tell your instructor"
        )
    if found.refusal:
        raise UsageError(found.refusal)
    return found


def _refusal(origin: str, reason: str) -> UsageError:
    return UsageError(
        f"{origin} cannot be read because {reason}; hand in the scripts themselves, in a folder"
    )


def _ended(exit_code: int | None) -> str:
    if exit_code is None:
        return f"reading it took more than {DEADLINE_S:g} s"
    if exit_code in (OUT_OF_MEMORY, -signal.SIGKILL):
        return f"reading it took more than {MEMORY_NUM_BYTES >> 20} MiB of memory"
    if exit_code < 0:
        return f"the submission reader crashed ({signal_name(-exit_code)})"
    return f"the submission reader ended with exit code {exit_code}"


def signal_name(number: int) -> str:
    """Return what a signal is called that has ended a process."""
    try:
        return signal.Signals(number).name
    except ValueError:  # those for free use have numbers only
        return f"signal {number}"
