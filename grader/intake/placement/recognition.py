"""Finds out which assignment a submission is for, and what may stand for a missing file."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from grader.course.assignment import Assignment
from grader.course.assignment_file import Part
from grader.course.courses import Courses
from grader.intake.placement.matching import Rule, counts_for
from grader.intake.placement.table import Placement, absence_text, names_of
from grader.intake.submission import Submission, is_hidden
from grader.model.errors import GraderError, UsageError
from grader.model.paths import nearness
from grader.model.spelling import likeness, meant_files

_MAX_FOUND = 8
_MAX_NOTES = 5
_MAX_EXPECTED = 8
_MAX_MEANT = 4
_MAX_LOOKED_INTO = 200
_MAX_LOOKED_AT_NUM_BYTES = 1 << 17
_DEFINITION = re.compile(rb"^[ \t]*+(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_CALLED = re.compile(r"(\w+)[.(]")


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
            f"{submission.origin} could be for {' or '.join(names)}: it has the same number "
            f"of files for each; name one with --assignment {names[0]}"
        )
    return found[0]


def assignment_of(submission: Submission, name: str | None, courses: Courses) -> Assignment:
    """Return the assignment of a name, or else the one whose files a submission has.

    Raises UsageError where its files are those of another, of none, or of several.
    """
    if name is None:
        return recognise(submission, courses.assignments())
    named = courses.assignment(name)
    # A broken draft of another assignment must not matter here.
    require_likely(submission, named, courses.readable())
    return named


def require_likely(submission: Submission, named: Assignment, known: Sequence[Assignment]) -> None:
    """Raise UsageError for files of another assignment than the one that was named."""
    if _score(submission, named)[0] or meant_by(submission, named):
        return
    others = {
        full_name(each, known): score
        for each in known
        if each != named and (score := _score(submission, each)[0])
    }
    if others:
        best = max(others, key=lambda name: others[name])
        raise UsageError(
            f"{submission.origin} has no file of {named.name}; its files look like those of "
            f"{best}: name that assignment instead"
        )


def meant_by(submission: Submission, assignment: Assignment) -> dict[str, str]:
    """Return of each file that is missing the one that was probably meant to be it, if any.

    By what it defines first: the function or class that is called, then by its name.
    """
    names = names_of(assignment)
    rules = {path: counts_for(path, names) for path in [*submission.files, *submission.not_read]}
    there = {file for path in submission.files for file in rules[path]}
    missing = [file for file in assignment.handed_in if file not in there]
    unread = sorted(submission.not_read, reverse=True)
    not_read = {file: path for path in unread for file in rules[path]}
    found = {file: not_read[file] for file in missing if file in not_read}
    free = [path for path in _shown(submission) if not rules[path]]
    pairs = [
        (-likeness(file, path), file, path)
        for part in assignment.parts
        for path in free[:_MAX_LOOKED_INTO]
        if _defines(submission.files.get(path, b""), part)
        for file in part.files
        if file in missing
    ]
    for _, file, path in sorted(pairs):
        if file not in found and path not in found.values():
            found[file] = path
    left = [path for path in free if path not in found.values()]
    return found | meant_files([name for name in missing if name not in found], left)


def _defines(content: bytes, part: Part) -> bool:
    """Return whether a file defines what is called of a part."""
    called, source = _called(part).encode(), content[:_MAX_LOOKED_AT_NUM_BYTES]
    return bool(called) and called in source and called in _DEFINITION.findall(source)


def _called(part: Part) -> str:
    """Return the function or class that is called of a part; empty where a script is run."""
    modules = "|".join(re.escape(PurePosixPath(file).stem) for file in part.files)
    called = _CALLED.match(re.sub(rf"^({modules})\.", "", part.entry))
    return called[1] if called else ""


def full_name(assignment: Assignment, known: Sequence[Assignment]) -> str:
    """Return an assignment's name, behind its course's where several have one of that name."""
    is_alone = sum(each.name == assignment.name for each in known) < 2
    return assignment.name if is_alone else f"{assignment.course}/{assignment.name}"


def missing_text(placement: Placement, part: Part, file: str) -> tuple[str, str]:
    """Return the sentence about a missing file of a part, and which file may be meant for it."""
    absence = absence_text([file, *part.accepted_names.get(file, ())])
    submission = placement.submission
    meant = meant_by(submission, placement.assignment).get(file)
    if not meant:
        return absence, ""
    if reason := submission.not_read.get(meant):
        return f"{meant} was not read: it {reason}", ""
    if _defines(submission.files[meant], part):
        return f"{absence}. ", f"{meant} defines {_called(part)}: rename {meant} to {file}"
    return f"{absence}. ", f"Is {meant} meant to be {file}? If so, rename it"


def unused_text(placement: Placement, part: Part) -> str:
    """Return which file may hold the work where that of a part is the unchanged template."""
    names = names_of(placement.assignment)
    files = placement.submission.files
    for file in part.files:
        if not placement.is_template(file):
            continue
        for path in _shown(placement.submission)[:_MAX_LOOKED_INTO]:
            if _defines(files.get(path, b""), part) and not counts_for(path, names):
                return (
                    f"{path} defines {_called(part)}. If it is your solution, rename it to {file}"
                )
    return ""


def _nothing_found(submission: Submission, known: Sequence[Assignment]) -> str:
    """Return what was found though no assignment has it, and which names may be meant."""
    found = _shown(submission)
    shown = ", ".join(found[:_MAX_FOUND])
    more = f", and {len(found) - _MAX_FOUND} more" if len(found) > _MAX_FOUND else ""
    nearest, names = _nearest(submission, known)
    if names:
        files = _listed(nearest.handed_in)
        expected = [f"The closest assignment is {full_name(nearest, known)}, which expects {files}"]
        expected += [
            f"Is {path} meant to be {name}? If so, rename it"
            for name, path in sorted(names.items())[:_MAX_MEANT]
        ]
    else:
        like = " or ".join(f"{each.handed_in[0]} ({full_name(each, known)})" for each in known)
        expected = [f"Expected files such as {like}"]
    absence = f"{submission.origin} contains no file of any known assignment"
    notes = submission.notes[:_MAX_NOTES]
    return ". ".join([absence, f"Found {shown}{more}", *expected, *notes])


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
    content = submission.files.get(path, b"")[:_MAX_LOOKED_AT_NUM_BYTES]
    defined = _DEFINITION.findall(content)
    return len(asked.intersection(defined)) / max(len(asked), 1)


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MAX_EXPECTED} more" if len(names) > _MAX_EXPECTED else ""
    return ", ".join(names[:_MAX_EXPECTED]) + more


def _shown(submission: Submission) -> list[str]:
    """Return what was handed in, the nearest first, without what is hidden."""
    names = [*submission.files, *submission.not_read]
    shown = [name for name in dict.fromkeys(names) if not is_hidden(name)]
    return sorted(shown, key=nearness)


def _score(submission: Submission, assignment: Assignment) -> tuple[int, int, int]:
    """Return how many asked files, accepted names, and given files there are, readable or not."""
    names = names_of(assignment)
    best = dict[str, Rule]()
    for path in [*submission.files, *submission.not_read]:
        for file, rule in counts_for(path, names).items():
            best[file] = min(rule, best.get(file, rule))
    asked = [best[file] for file in assignment.handed_in if file in best]
    given = sum(best.get(file) is Rule.OWN_NAME for file in assignment.support)
    return len(asked), sum(rule <= Rule.OTHER_NAME for rule in asked), given
