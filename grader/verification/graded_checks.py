"""What is checked of an assignment by grading: its reference, its template, its labels."""

from collections.abc import Callable, Iterator

from grader.authoring.kill_matrix import reasons, unexplained
from grader.errors import GraderError, UsageError
from grader.model import PartResult, Verdict
from grader.points import written
from grader.suite.selection import Selection
from grader.verification.grading import Grader
from grader.verification.labels import disagreements, labelled, read_label
from grader.verification.mutation import graded, mutations
from grader.verification.near_misses import NearMiss, Recording
from grader.verification.problem import Problem

NEAR_MISS = 0.01
"""Numbers that are one per cent too large have to cost something."""


def check_reference(grader: Grader) -> Iterator[Problem]:
    """Check that the solution gets all points of every part, with the hidden tests."""
    report = grader.grade(grader.assignment.reference, shows_hidden=_has_hidden(grader))
    for part in report.parts:
        if part.points < part.max_points or part.verdict is not Verdict.ACCEPTED:
            yield Problem(f"reference, {part.name}", _account(part))


def check_template_gets_nothing(grader: Grader) -> Iterator[Problem]:
    """Check that what students start from is not attempted in any part that pays."""
    for part in grader.grade(grader.assignment.template).parts:
        if part.max_points and (part.points or part.verdict is not Verdict.NOT_ATTEMPTED):
            yield Problem(
                f"template, {part.name}",
                f"expected NOT_ATTEMPTED and no points; {_account(part)}; let what is to be "
                "written raise NotImplementedError",
            )


def check_labelled(grader: Grader) -> Iterator[Problem]:
    """Check that every labelled submission gets its verdict, for its reason, at its price."""
    folders = labelled(grader.course.submissions, grader.assignment.name)
    for number, folder in enumerate(folders, 1):
        subject = folder.relative_to(grader.course.submissions).as_posix()
        grader.progress(f"labels: {number} of {len(folders)}, {subject}")
        try:
            label = read_label(folder)
            (result,) = grader.grade(folder, label.part).parts
        except (GraderError, UsageError) as error:
            yield Problem(subject, str(error))
            continue
        yield from (Problem(subject, text) for text in disagreements(label, result))


def check_near_misses(grader: Grader) -> Iterator[Problem]:
    """Check that no part takes numbers for right that are slightly too large.

    One result after the other is made so. What no test looks at is no tolerance: twice too large is
    not noticed there either.
    """
    inner = grader.settings.launch
    assert inner is not None
    for part in grader.assignment.parts:
        grader.progress(f"near misses: {part.name}")
        recording = Recording(inner)
        grader.grade(grader.assignment.reference, part.name, launch=recording.launch)

        for name in recording.names():
            near, far = (
                NearMiss(recording.launch, name, relative) for relative in (NEAR_MISS, 1.0)
            )
            if not _is_noticed(grader, part.name, near) and _is_noticed(grader, part.name, far):
                yield Problem(
                    part.name,
                    f"{name} may be {NEAR_MISS:.0%} too large, and every test holds: compare it "
                    "with a smaller tolerance",
                )


def _is_noticed(grader: Grader, part: str, near: NearMiss) -> bool:
    """Return whether some test finds the reference wrong, of which one result is too large."""
    report = grader.grade(
        grader.assignment.reference,
        part,
        launch=near.launch,
        selection=Selection(fail_fast=True),
    )
    silent = (Verdict.ACCEPTED, Verdict.SKIPPED, Verdict.JUDGE_ERROR)
    return any(test.verdict not in silent for test in report.parts[0].tests)


def _has_hidden(grader: Grader) -> bool:
    folder = grader.assignment.folder
    return any((folder / part.hidden_suite).is_file() for part in grader.assignment.parts)


def _account(part: PartResult) -> str:
    """Return what a part got, and the first thing that it was not paid for."""
    failed = [test for test in part.tests if test.verdict is not Verdict.ACCEPTED]
    why = "; ".join(f"{test.verdict.value} {test.name}: {test.message}" for test in failed[:2])
    paid = f"{written(part.points)} of {written(part.max_points)}"
    return f"found {part.verdict.value}, {paid}: {why or part.message}"


def check_mutants(grader: Grader) -> Iterator[Problem]:
    """Check that every small mistake in the reference is found, or said to be none.

    The course's equivalent.toml says why a mutant that no test finds is as right as the reference.
    """
    file = grader.course.mutation / "equivalent.toml"
    explained = reasons(file.read_text()) if file.is_file() else {}
    found = list(mutations(grader.assignment))
    for number, mutation in enumerate(found, 1):
        grader.progress(f"mutants: {number} of {len(found)}, {mutation.file}")
        for row in unexplained([graded(grader, mutation)], explained):
            yield Problem(
                f"{row.file}:{row.line}",
                f"no test finds {row.before!r} changed to {row.after!r}; add one that does, or "
                f"say in {file} why it is as right: '{row.key}' = \"...\"",
            )


GRADED_CHECKS: dict[str, Callable[[Grader], Iterator[Problem]]] = {
    "reference gets all points": check_reference,
    "template gets none": check_template_gets_nothing,
    "labelled submissions": check_labelled,
    "near misses": check_near_misses,
}
