"""Where each student stands: the hand-ins, which one counts, and what it is worth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.addons.classroom.class_folder import Pseudonyms
from grader.addons.classroom.gradings import Grading
from grader.addons.classroom.marking import Given, Mark, Marks, Questions, mark, max_of
from grader.addons.classroom.policy import Attempt, Decision, Policy, decide
from grader.addons.classroom.roster import HandIn, Roster, Student
from grader.model.errors import UsageError
from grader.model.report import Report


@dataclass(frozen=True)
class Work:
    """A hand-in with its grading, if it has one."""

    hand_in: HandIn
    grading: Grading | None
    problem: str = ""
    """Why there is no grading."""
    sender: str = ""
    """The id of the student who handed it in, perhaps for others; empty if unknown."""


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
    outdated: tuple[str, ...] = ()
    """Lines that were marked in an earlier hand-in than the one that counts."""
    max_points: float = 0.0
    """Of the assignment; 0 if the class names none."""

    @property
    def report(self) -> Report | None:
        """Return what was found in the hand-in that counts; None where there is none."""
        grading = self.counted.grading if self.counted is not None else None
        return grading.report if grading is not None else None

    @property
    def identity(self) -> tuple[str, str]:
        """Return what identifies the hand-in: a group's may be delivered once for each member."""
        hand_in = self.counted.hand_in if self.counted is not None else None
        return (
            self.student.group or (hand_in.label if hand_in else self.student.id),
            hand_in.digest if hand_in else "",
        )

    @property
    def final(self) -> float | None:
        """Return the points by the rules of the course; None while some are pending."""
        return None if self.status == "pending" else self.decision.final

    @property
    def status(self) -> str:
        """Return in a few words whether there is a mark, and if not, why."""
        if self.counted is None and self.mark is None:
            return "no hand-in found" if self.decision.final is None else "nothing handed in"
        if self.mark is None:
            return "not graded"
        if self.mark.problem:
            return "cannot be graded" if self.report is None else "needs review"
        if self.decision.problem:
            return "needs review"
        if self.mark.pending:
            return "pending"
        # Points given in place of the tests' leave no line to fill in.
        return "needs review" if self.outdated else "marked"

    @property
    def team(self) -> str:
        """Return words that say that another member handed it in; empty otherwise."""
        sender = self.counted.sender if self.counted is not None else self.student.id
        if not self.student.group or sender == self.student.id:
            return ""
        return f"handed in{f' by {sender}' if sender else ''} for {self.student.group}"

    @property
    def problem(self) -> str:
        """Return why the instructor must decide, in a sentence; empty otherwise."""
        if self.counted is not None and self.counted.problem and self.mark is None:
            return f"not graded: {self.counted.problem}"
        if self.outdated:
            return f"{', '.join(self.outdated)}: marked in an earlier hand-in; review this one"
        return (self.mark.problem if self.mark is not None else "") or self.decision.problem


@dataclass(frozen=True)
class Strays:
    """Hand-ins, authors, and keys that match no student: a sentence each."""

    hand_ins: tuple[str, ...] = ()
    """Hand-ins without an author: they could be any student's."""
    authors: tuple[str, ...] = ()
    """Authors whom a platform names next to a student on the roster."""
    keys: tuple[str, ...] = ()
    """Names in marks and extensions that no student has."""


@dataclass(frozen=True)
class Rules:
    """What a course decides beside the tests."""

    roster: Roster
    marks: Marks
    policy: Policy
    questions: Questions
    """Of the assignment that was graded."""
    names: Pseudonyms


def standings(works: Sequence[Work], rules: Rules) -> tuple[list[Standing], Strays]:
    """Return where each student stands, those of the roster first, and what matches no student.

    While a hand-in has no author, no student is known to have handed in nothing. Raises UsageError
    for impossible marks.
    """
    roster = rules.roster
    reports = [each.grading.report for each in works if each.grading and each.grading.report]
    if reports and rules.questions.max_points:
        # The assignment in this folder may have prices that are not published yet.
        ((most, _),) = Counter(map(max_of, reports)).most_common(1)
        rules = replace(rules, questions=replace(rules.questions, max_points=most))
    students = {student.id: student for student in roster.students}
    by_student: dict[str, list[Work]] = {identity: [] for identity in students}
    strays, unknown = [], []
    for each in works:
        hand_in = each.hand_in
        # Without a roster any name of a file might be an id. What cannot be read has the author
        # that a platform's name gives, and no other.
        is_believed = roster.listed or not hand_in.problem or set(hand_in.who) != {"id"}
        authors = roster.authors(hand_in) if is_believed else []
        if not authors:
            strays.append(hand_in.problem or _nobodys(hand_in, roster))
        for name in roster.unknown_authors(hand_in):
            unknown.append(f"{hand_in.label} also belongs to {name}, a student not on the roster")
        if roster.are_of_groups(hand_in):
            unknown.append(
                f"{hand_in.label} belongs to several groups on the roster; it counts only "
                "for the students whom the platform names"
            )
        sender = roster.sender(hand_in)
        for author in authors:
            students.setdefault(author.id, author)
            work = replace(each, sender=sender.id if sender else "")
            by_student.setdefault(author.id, []).append(work)
    found: list[Standing] = []
    mistakes: list[str] = []
    for identity, own in by_student.items():
        try:
            found.append(_standing(students[identity], own, rules, is_clear=not strays))
        except UsageError as error:
            mistakes += error.args
    if mistakes:  # a team's are those of each member
        raise UsageError(*dict.fromkeys(mistakes))
    everybody = [*roster.listed, *students.values()]
    known = {key for student in everybody for key in keys_of(student, rules.names)}
    sheets = {name for work in works for name in (work.hand_in.label, *_sheets(work, rules))}
    nobody = "which is neither a student's id nor a group"
    marks = sorted(set(rules.marks) - known - sheets)
    extensions = sorted(set(rules.policy.extensions) - known)
    keys = [f"marks are given to {key}, {nobody}" for key in marks]
    keys += [f"an extension is given to {key}, {nobody}" for key in extensions]
    return found, Strays(tuple(strays), tuple(unknown), tuple(keys))


def _nobodys(hand_in: HandIn, roster: Roster) -> str:
    """Return what to do about a hand-in that has no author."""
    if roster.means_several(hand_in):
        return (
            f"{hand_in.label} names several students on the roster. Find its author, and "
            "rename it to the author's id"
        )
    if hand_in.is_of_namesakes:
        return (
            f"another hand-in has the same student name as {hand_in.label}. Add the "
            "author's number or email to the roster"
        )
    said = f"{hand_in.label} names no student on the roster. Add its author to the roster"
    if set(hand_in.who) == {"id"}:  # as only without `platform` in class.toml
        said += ", rename it to an id, or set platform in class.toml"
    return f"{said}; if it is a test student's, remove it from the folder"


def keys_of(student: Student, names: Pseudonyms) -> list[str]:
    """Return the names of a student in marks and extensions, the most specific first."""
    return [key for key in (student.id, names.of(student.id), student.group) if key]


def _standing(student: Student, works: Sequence[Work], rules: Rules, *, is_clear: bool) -> Standing:
    keys = keys_of(student, rules.names)
    if not works and (found := mark(None, _rows(keys, rules), rules.questions)):
        # As after an oral examination.
        return Standing(student, (), None, found, Decision("", found.score, found.score, ()))
    if not works and not is_clear:
        why = "no hand-in was found for this student, but some hand-ins have no author yet"
        return Standing(student, (), None, None, Decision("", None, None, (why,)))
    marked = {
        work.hand_in.label: found
        for work in works
        if (found := mark(work.grading, _given(work, keys, rules), rules.questions))
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
    most = rules.questions.max_points
    found = marked.get(decision.label)
    standing = Standing(student, tuple(works), counted, found, decision, max_points=most)
    return _without_outdated(standing, keys, rules)


def _without_outdated(each: Standing, keys: Sequence[str], rules: Rules) -> Standing:
    """Return the standing without points given for another hand-in than the one that counts.

    They did help to decide which one counts: otherwise the best would be the one marked first.
    """
    if each.counted is None:
        return each
    given = _given(each.counted, keys, rules)
    digest = each.counted.hand_in.digest
    fresh = {name: one for name, one in given.items() if one.is_for(digest)}
    if len(fresh) == len(given):
        return each
    found = mark(each.counted.grading, fresh, rules.questions)
    outdated = tuple(sorted(given.keys() - fresh.keys()))
    decision = replace(each.decision, raw=found.score if found else None, final=None)
    return replace(each, mark=found, decision=decision, outdated=outdated)


def _given(work: Work, keys: Sequence[str], rules: Rules) -> Mapping[str, Given]:
    """Return the points given: those for the hand-in override the student's, and these the group's.

    A group's sheet has the pseudonym of one member, and is for all of them, even if that member was
    forgotten since.
    """
    nearest_first = [work.hand_in.label, *keys[:2], *_sheets(work, rules), *keys[2:]]
    return _rows(nearest_first, rules, work.hand_in.digest)


def _rows(nearest_first: Sequence[str], rules: Rules, digest: str = "") -> Mapping[str, Given]:
    found = [row for key in reversed(nearest_first) for row in rules.marks.get(key, {}).items()]
    # Points for another hand-in must not hide points for this one.
    return dict(sorted(found, key=lambda row: row[1].is_for(digest)))


def _sheets(work: Work, rules: Rules) -> list[str]:
    return [rules.names.of(author.id) for author in rules.roster.authors_ever(work.hand_in)]
