"""Archives and trees of hostile make: nothing gets in from outside, nothing gets out of hand.

They are read as `docker run -v FILE:/submission:ro` reads them, in the hardened container, and as
`grade run FILE` reads them before anything is sent.
"""

import warnings

import pytest
from red_team import container, images, invariants
from red_team.archives import BUILDERS, READ_TWO_WAYS
from red_team.archives.contents import FILE, SEEN, WRONG
from red_team.attack import Attack

from grader.course.courses import find_courses
from grader.intake import process as intake
from grader.intake.placement.table import place
from grader.model.errors import UsageError
from grader.model.report import Verdict

CANARY = "a line of another student's file"
LIMIT_S = 240.0


@pytest.fixture(params=BUILDERS, ids=lambda builder: builder.__name__)
def built(request, tmp_path):
    """One archive or tree, made afresh; what it links to lies outside of it."""
    canary = tmp_path / "canary.py"
    canary.write_text(f"# {CANARY}\n")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        place = request.param(tmp_path / "handed_in", canary)
    # The container's root may only read what everybody may.
    for path in (place, *tmp_path.parents[:2], tmp_path):
        path.chmod(path.stat().st_mode | 0o055)
    return place


def test_the_client_takes_only_what_lies_in_it(built):
    """Plain files of the archive itself, or one sentence; never what a link leads to."""
    wanted = find_courses().wanted("mpi_sgd")
    try:
        found = intake.read(built, wanted)
    except UsageError as refused:
        assert "\n" not in str(refused)
        assert CANARY not in str(refused)
        return
    assert CANARY.encode() not in b"".join(found.files.values())
    assert not [name for name in found.files if name.startswith("/") or ".." in name.split("/")]
    assert sum(map(len, found.files.values())) <= 256 << 20


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("builder", READ_TWO_WAYS, ids=lambda builder: builder.__name__)
def test_what_a_person_is_shown_is_what_is_graded(builder, tmp_path):
    """Whichever file another program would show; or one sentence, and nothing is graded."""
    assignment = find_courses().assignment("mpi_sgd")
    handed_in = builder(tmp_path / "handed_in", tmp_path)
    try:
        found = intake.read(handed_in, assignment.wanted)
    except UsageError as refused:
        assert str(refused).endswith("; make the archive again")
        return
    placed = place(found, assignment)
    assert placed.files[FILE] in (SEEN, WRONG)
    assert placed.everything[FILE] == placed.files[FILE]
    assert intake.read(handed_in, assignment.wanted) == found


def test_the_container_pays_nothing_and_stays_clean(built):
    """No points, no canary, nothing left, no failure of the grader: a report or one sentence."""
    images.require()
    options = ["--assignment", "mpi_sgd", "--part", "naive_allreduce"]
    graded = container.grade(None, options, limit_s=LIMIT_S, mounted=built)
    attack = Attack(
        name=built.name,
        files={"names": FILE.encode()},
        about="",
        threat="T6",
        part="naive_allreduce",
        verdicts=frozenset(Verdict) - {Verdict.ACCEPTED, Verdict.JUDGE_ERROR},
        must_not_appear=(CANARY,),
    )
    if graded.exit_code == UsageError.exit_code:
        assert graded.stderr.count("grade: ") == 1, graded.stderr
        problems = [*invariants.told(attack, graded), *invariants.left_behind(graded)]
    else:
        problems = invariants.broken(attack, graded)
    assert not problems, "\n".join([*problems, graded.stderr[-2000:]])
