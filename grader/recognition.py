"""Finds out which assignment a submission is for, by the names of its files."""

import re
from collections.abc import Iterable, Sequence

from grader.assignment import Assignment, Part
from grader.errors import GraderError, UsageError
from grader.spelling import likeness, meant_files
from grader.submission import Submission

_MAX_NOTES = 5
_MAX_FOUND = 8
_MAX_EXPECTED = 8
_MAX_MEANT = 4
_DEFINITION = re.compile(rb"^\s*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)


def recognise(submission: Submission, known: Sequence[Assignment]) -> Assignment:
    """Return the assignment that most of the files are for; support files decide between equals.

    Raises UsageError when there is none, or when two are equally likely.
    """
    if not known:
        raise GraderError("no assignment is installed")
    scores = [_score(submission, each) for each in known]
    best = max(scores)
    found = [each for each, score in zip(known, scores, strict=True) if score == best]
    if not best[0]:
        raise UsageError(_nothing_found(submission, known))
    if len(found) > 1:
        names = [full_name(each, known) for each in found]
        raise UsageError(
            f"{submission.origin} may be for {' or '.join(names)}: it holds "
            f"as many files of each; say which with --assignment {names[0]}"
        )
    return found[0]


def require_likely(submission: Submission, named: Assignment, known: Sequence[Assignment]) -> None:
    """Raise UsageError for files of another assignment than the one that was named."""
    if _score(submission, named)[0] or meant_by(submission, named):
        return
    found = set(submission.found) | set(submission.files)
    tails = found | {path.partition("/")[2] for path in found}
    others = {
        full_name(each, known): sum(any(name in tails for name in names) for names in _asked(each))
        for each in known
        if each != named
    }
    best = max(others, key=lambda name: others[name], default="")
    if best and others[best]:
        raise UsageError(
            f"{submission.origin} holds none of the files of {named.name}: these look like "
            f"{best}; name that assignment instead"
        )


def meant_by(submission: Submission, assignment: Assignment) -> dict[str, str]:
    """Return of each file that is missing the one that was probably meant to be it, if any."""
    known = {name for names in _asked(assignment) for name in names} | set(assignment.support)
    missing = [names[0] for names in _asked(assignment) if not set(names) & set(submission.files)]
    found = submission.found or tuple(submission.files)
    return meant_files(missing, [path for path in found if not _is_one_of(path, known)])


def full_name(assignment: Assignment, known: Sequence[Assignment]) -> str:
    """Return an assignment's name, behind its course's where several have one of that name."""
    is_alone = sum(each.name == assignment.name for each in known) < 2
    return assignment.name if is_alone else f"{assignment.course}/{assignment.name}"


def missing_text(submission: Submission, assignment: Assignment, part: Part, file: str) -> str:
    """Return the sentence about a file of a part that was not handed in."""
    names = " or ".join([file, *part.accepted_names.get(file, ())])
    meant = meant_by(submission, assignment).get(file)
    hint = f"; did you mean it by {meant}? If so, rename that" if meant else ""
    return f"{names} was not handed in{hint}"


def _nothing_found(submission: Submission, known: Sequence[Assignment]) -> str:
    """Return what there is instead of any file of any assignment, and what may have been meant."""
    found = submission.found or tuple(submission.files)
    shown = ", ".join(found[:_MAX_FOUND]) or "no file in the root or one folder down"
    more = f" and {len(found) - _MAX_FOUND} more" if len(found) > _MAX_FOUND else ""
    nearest, names = _nearest(submission, known)
    if names:
        pairs = list(names.items())
        asked = " ".join(
            f"Did you mean {name} by {path}?" for name, path in sorted(pairs)[:_MAX_MEANT]
        )
        files = _listed(nearest.handed_in)
        expected = f"nearest is {full_name(nearest, known)}, which expects {files}. {asked}"
    else:
        expected = "expected for example " + " or ".join(
            f"{each.handed_in[0]} ({full_name(each, known)})" for each in known
        )
    return (
        f"{submission.origin} holds none of the files of any assignment; found {shown}{more}; "
        f"{expected}" + "".join(f"; {note}" for note in submission.notes[:_MAX_NOTES])
    )


def _nearest(
    submission: Submission, known: Sequence[Assignment]
) -> tuple[Assignment, dict[str, str]]:
    """Return the assignment that most of the files were meant for, and for which of its names.

    Each file speaks for the assignment with the name nearest to its own; where names are equally
    near, for the one whose template defines more of what the file defines.
    """
    meant = [meant_by(submission, each) for each in known]
    near = [
        {
            path: (likeness(name, path), _likeness_of_contents(submission, path, each, name))
            for name, path in names.items()
        }
        for each, names in zip(known, meant, strict=True)
    ]
    nearest = {
        path: max(each[path] for each in near if path in each) for each in near for path in each
    }
    votes = [sum(each.get(path) == best for path, best in nearest.items()) for each in near]
    index = votes.index(max(votes))
    return known[index], meant[index]


def _likeness_of_contents(
    submission: Submission, path: str, assignment: Assignment, name: str
) -> float:
    """Return the share of a template's functions and classes that a file defines as well."""
    template = assignment.template / name
    asked = set(_DEFINITION.findall(template.read_bytes())) if template.is_file() else set()
    handed_in = submission.files.get(path, submission.files.get(path.partition("/")[2], b""))
    return len(asked.intersection(_DEFINITION.findall(handed_in))) / max(len(asked), 1)


def _listed(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _MAX_EXPECTED else ""
    return ", ".join(names[:_MAX_EXPECTED]) + more


def _is_one_of(path: str, names: Iterable[str]) -> bool:
    """Return whether a path ends in one of the names, in whichever folder."""
    return any(path == name or path.endswith(f"/{name}") for name in names)


def _asked(assignment: Assignment) -> list[tuple[str, ...]]:
    return list(assignment.accepted_names.values())


def _score(submission: Submission, assignment: Assignment) -> tuple[int, int]:
    """Return how many files are there that the assignment asks for, and how many that it gives."""
    return (
        sum(any(name in submission.files for name in names) for names in _asked(assignment)),
        sum(name in submission.files for name in assignment.support),
    )
