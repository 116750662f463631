"""Every sealed grading begins with the selftest, and what it finds decides."""

from dataclasses import replace

import pytest

from grader.course.courses import bundled
from grader.grading import pipeline
from grader.grading.settings import Settings
from grader.intake.submission import Submission
from grader.model.errors import GraderError
from grader.sealed.selftest.protections import Protection

OPEN = Protection("Files cannot be read", False, "not refused: read /judge", True)
WRITABLE = Protection("The image cannot be changed", False, "writable", False, "--read-only")
HOLDS = Protection("Ranks are a user of their own", True, "user 5", True)


@pytest.fixture
def grade(monkeypatch: pytest.MonkeyPatch):
    """Grade nothing but one part that was not handed in, in a machine with these protections."""
    examined = []

    def grade(*protections: Protection, has_solution: bool = True, **settings):
        def examine(launch, material, needed, *, kernel_is_tried):
            examined.append(kernel_is_tried)
            return protections

        monkeypatch.setattr("grader.sealed.selftest.examine.examine", examine)
        mpi_sgd = bundled().load("mpi_sgd")
        if not has_solution:
            mpi_sgd = replace(mpi_sgd, reference=mpi_sgd.folder / "none")
        chosen = Settings(parts=["ring_allreduce"], **settings)
        submission = Submission(origin="anna", files={"my_naive_allreduce.py": b""}, digest="d")
        return pipeline.grade_submission(submission, mpi_sgd, chosen), examined

    return grade


def test_a_grading_that_is_not_sealed_needs_no_selftest(grade):
    """`grade check` runs as the student."""
    report, examined = grade(OPEN)
    assert (examined, report.notes) == ([], ())


@pytest.mark.parametrize("kernel_is_tried", [True, False])
@pytest.mark.parametrize("flags_are_ours", [True, False])
def test_a_sealed_grading_where_everything_holds_says_nothing(
    grade, flags_are_ours, kernel_is_tried
):
    """It is examined once."""
    how = {"flags_are_ours": flags_are_ours, "kernel_is_tried": kernel_is_tried}
    report, examined = grade(HOLDS, sealed=True, **how)
    assert (examined, report.notes) == ([kernel_is_tried], ())


@pytest.mark.parametrize(
    ("protection", "flags_are_ours"), [(OPEN, False), (OPEN, True), (WRITABLE, True)]
)
def test_a_sealed_grading_does_not_start_without(grade, protection, flags_are_ours):
    """Exit code 3, and no part is looked at."""
    with pytest.raises(GraderError, match="refusing to grade") as raised:
        grade(HOLDS, protection, sealed=True, flags_are_ours=flags_are_ours)
    assert raised.value.exit_code == 3
    assert protection.name in str(raised.value)


def test_the_students_edition_has_a_short_note(grade):
    """Which is the one that holds no solution."""
    report, _ = grade(WRITABLE, sealed=True, has_solution=False)
    assert report.notes[0].startswith(
        "feedback, not your mark: 1 of the course's protections is missing"
    )


def test_plain_docker_run_is_graded_with_a_note(grade):
    """Before the notes on the submission, after those of the client."""
    report, _ = grade(WRITABLE, sealed=True, notes=("the client's",))
    assert report.notes[0] == "the client's"
    assert "--read-only" in report.notes[1]
    assert report.parts[0].name == "ring_allreduce"
