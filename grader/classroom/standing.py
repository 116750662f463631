"""Where each student stands: what was handed in, what of it counts, and what that is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.classroom.gradings import Grading
from grader.classroom.hand_in import HandIn, Student, Unreadable
from grader.classroom.manual_marks import Given, Marks
from grader.classroom.marking import Mark, Rubrics, mark
from grader.classroom.policy import Attempt, Decision, Policy, decide
from grader.classroom.pseudonyms import Pseudonyms
from grader.classroom.roster import Roster


@dataclass(frozen=True)
class Work:
    """A hand-in with its grading, if it has one."""

    hand_in: HandIn
    grading: Grading | None
    problem: str = ""
    """Why there is no grading."""
    sender: str = ""
    """The id of who handed it in, also where it counts for others; empty where nobody knows."""


@dataclass(frozen=True)
class Standing:
    """What a student gets, and why."""

    student: Student
    works: tuple[Work, ...]
    counted: Work | None
    """Of several, the one that counts."""
    mark: Mark | None
    """Of the one that counts."""
    decision: Decision

    @property
    def identity(self) -> tuple[str, str]:
        """Return what tells the hand-in from others: one of a group may be delivered for each."""
        hand_in = self.counted.hand_in if self.counted is not None else None
        return (
            self.student.group or (hand_in.label if hand_in else self.student.id),
            hand_in.digest if hand_in else "",
        )

    @property
    def final(self) -> float | None:
        """Return the points by the rules of the course; None while people have some to give."""
        return None if self.status == "pending" else self.decision.final

    @property
    def status(self) -> str:
        """Return in a few words whether there is a mark, and if not, why."""
        if self.counted is None:
            return "nothing handed in"
        if self.counted.grading is None:
            return "not graded"
        if self.mark is not None and self.mark.problem:
            is_bad = self.counted.grading.report is None
            return "cannot be graded" if is_bad else "a person should look"
        if self.decision.problem:
            return "a person should look"
        return "pending" if self.mark is not None and self.mark.pending else "marked"

    @property
    def problem(self) -> str:
        """Return why a person has to look, in a sentence; empty where nobody has to."""
        if self.counted is not None and self.counted.problem:
            return f"not graded: {self.counted.problem}"
        return (self.mark.problem if self.mark is not None else "") or self.decision.problem


@dataclass(frozen=True)
class Strays:
    """What belongs to nobody."""

    works: tuple[Work, ...]
    """Hand-ins of somebody who is not on the roster."""
    marks: tuple[str, ...]
    """Ids in the file of marks that nobody has."""
    extensions: tuple[str, ...] = ()
    """Likewise of extensions."""
    authors: tuple[str, ...] = ()
    """Whom a platform names beside somebody on the roster: a sentence each."""


@dataclass(frozen=True)
class Rules:
    """What a course decides beside the tests."""

    roster: Roster
    marks: Marks
    policy: Policy
    rubrics: Rubrics
    """Of the assignment that was graded."""
    names: Pseudonyms


def standings(works: Sequence[Work], rules: Rules) -> tuple[list[Standing], Strays]:
    """Return where each student stands, those of the roster first, and what is nobody's.

    Raises UsageError for marks that cannot be right.
    """
    students = {student.id: student for student in rules.roster.students}
    by_student: dict[str, list[Work]] = {identity: [] for identity in students}
    strays = []
    unknown = []
    for each in works:
        authors = rules.roster.authors(each.hand_in)
        sender = rules.roster.sender(each.hand_in)
        work = replace(each, sender=sender.id if sender else "")
        if not authors:
            strays.append(work)
        for name in rules.roster.unknown_authors(each.hand_in):
            unknown.append(f"{each.hand_in.label} is also of {name}, who is not on the roster")
        for author in authors:
            students.setdefault(author.id, author)
            by_student.setdefault(author.id, []).append(work)
    found = [_standing(students[identity], own, rules) for identity, own in by_student.items()]
    known = {key for student in students.values() for key in keys_of(student, rules.names)}
    labels = {work.hand_in.label for work in works}
    return found, Strays(
        works=tuple(strays),
        marks=tuple(sorted(set(rules.marks) - known - labels)),
        extensions=tuple(sorted(set(rules.policy.extensions) - known)),
        authors=tuple(unknown),
    )


def keys_of(student: Student, names: Pseudonyms) -> list[str]:
    """Return what marks and extensions may call a student, what is nearest first."""
    keys = (student.id, names.of(student.id), student.group)
    return [key for key in keys if key]


def _standing(student: Student, works: Sequence[Work], rules: Rules) -> Standing:
    keys = keys_of(student, rules.names)
    marked = {
        work.hand_in.label: mark(work.grading, _given(work, keys, rules), rules.rubrics)
        for work in works
        if work.grading is not None
    }
    attempts = [
        Attempt(
            work.hand_in.label,
            marked[work.hand_in.label].score if work.hand_in.label in marked else None,
            work.hand_in.submitted_at,
            # Canvas calls late what is late, and no other platform says so.
            work.hand_in.is_called_late if "canvas" in work.hand_in.who else None,
            work.sender == student.id,
            work.hand_in.digest,
        )
        for work in works
    ]
    decision = decide(attempts, rules.policy, keys)
    counted = next((each for each in works if each.hand_in.label == decision.label), None)
    return Standing(student, tuple(works), counted, marked.get(decision.label), decision)


def _given(work: Work, keys: Sequence[str], rules: Rules) -> Mapping[str, Given]:
    """Return what people gave: to the group, before it to the student, before it to the work.

    A sheet of a group is called by the pseudonym of one of them, and is for all of them.
    """
    sheets = [rules.names.of(author.id) for author in rules.roster.authors(work.hand_in)]
    found: dict[str, Given] = {}
    for key in reversed([work.hand_in.label, *keys[:2], *sheets, *keys[2:]]):
        found.update(rules.marks.get(key, {}))
    return found


def works_of(unreadable: Sequence[Unreadable], roster: Roster) -> list[Work]:
    """Return what could not be read and is yet somebody's: it has no grading, and is no zero.

    Without a roster any name of a file might be an id, so only a platform's names are believed.
    """
    return [
        Work(each.hand_in, None, each.reason)
        for each in unreadable
        if roster.authors(each.hand_in) and (roster.listed or set(each.hand_in.who) != {"id"})
    ]
