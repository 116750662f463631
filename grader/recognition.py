"""Finds out which assignment a submission is for, by the names of its files."""

from collections.abc import Sequence

from grader.assignment import Assignment
from grader.errors import GraderError, UsageError
from grader.submission import Submission

_MAX_NOTES = 5


def recognise(submission: Submission, known: Sequence[Assignment]) -> Assignment:
    """Return the assignment that most of the files are for; support files decide between equals.

    Raises UsageError when there is none, or when two are equally likely.
    """
    if not known:
        raise GraderError("no assignment is installed")
    scores = {each.name: _score(submission, each) for each in known}
    best = max(scores.values())
    found = [each for each in known if scores[each.name] == best]
    if not best[0]:
        files = ", ".join(list(submission.files)[:5]) or "no file in the root or one folder down"
        raise UsageError(
            f"{submission.origin} holds none of the files of any assignment; expected for example "
            f"{', '.join(found[0].handed_in[:3])}; found {files}"
            + "".join(f"; {note}" for note in submission.notes[:_MAX_NOTES])
        )
    if len(found) > 1:
        raise UsageError(
            f"{submission.origin} may be for {' or '.join(each.name for each in found)}: it holds "
            f"as many files of each; say which with --assignment {found[0].name}"
        )
    return found[0]


def _score(submission: Submission, assignment: Assignment) -> tuple[int, int]:
    """Return how many files are there that the assignment asks for, and how many that it gives."""
    asked = assignment.accepted_names.values()
    return (
        sum(any(name in submission.files for name in names) for names in asked),
        sum(name in submission.files for name in assignment.support),
    )
