"""What two ranks that are kept apart have told becomes protections."""

import pytest

from grader.model.errors import GraderError
from grader.sealed.selftest.between_ranks import between_ranks, protections
from grader.sealed.selftest.hostile_probe import BETWEEN_RANKS, BY_LANDLOCK, BY_PROC
from grader.sealed.selftest.protections import note, refusal

NAMES = [
    name
    for module in (*BETWEEN_RANKS, *BY_LANDLOCK, *BY_PROC)
    for name in vars(module)
    if name.startswith("try_")
]
OTHER = {"users": [20003] * 3, "groups": [20003] * 4}
NO_FILE = "Ranks that MPI connects use no file of each other"
NO_PROC = "Ranks that MPI connects have no way into /proc"


def told(succeeded=(), **changes):
    attempts = {
        name: {"num_steps": 3, "succeeded": ["write"] if name in succeeded else []}
        for name in NAMES
    }
    own = {"users": [20002] * 3, "groups": [20002] * 4}
    return {**own, "attempts": attempts, "landlock": 7, **changes}


def missing(found, other=OTHER):
    return [each for each in protections(found, other) if not each.holds]


def test_ranks_that_are_kept_apart_have_them_all():
    """One protection for each attempt, and that they are users of their own."""
    every = list(protections(told(), OTHER))
    assert all(each.holds for each in every)
    assert [each.name for each in every if not each.is_essential] == [NO_PROC]
    assert len({each.name for each in every}) == len(NAMES) + 1


def test_a_proc_that_is_the_machines_is_told_and_grades():
    """As with --pid host, which is told by itself, and forbids `grade run`."""
    (found,) = missing(told(succeeded={"try_looking_into_proc"}))
    assert found.name == NO_PROC
    assert refusal([found], flags_are_ours=True) == ""
    assert NO_PROC in note([found])


@pytest.mark.parametrize("name", [each for each in NAMES if each != "try_looking_into_proc"])
def test_an_attempt_that_succeeds_forbids_grading(name):
    """Also one on files, where the kernel has Landlock."""
    (found,) = missing(told(succeeded={name}))
    assert found.is_essential
    assert "write" in found.found
    assert refusal([found], flags_are_ours=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"users": [20002, 20000, 20002]},
        {"users": [20003] * 3},
        {"groups": [20002, 20003]},
    ],
)
def test_ranks_that_are_the_same_user_in_part(changes):
    """Real, effective and saved one, and every group."""
    (found,) = missing(told(**changes))
    assert found.name == "Each rank that MPI connects is its own user"
    assert found.is_essential


@pytest.mark.parametrize("succeeded", [(), ("try_folders_of_all",)])
def test_a_kernel_without_landlock_is_told_and_grades(succeeded):
    """Nobody who starts a container can add it."""
    found = missing(told(succeeded=succeeded, landlock=-1))
    assert [each.name for each in found] == [NO_FILE]
    assert refusal(found, flags_are_ours=True) == ""
    assert note(found).startswith("graded without protections that this machine lacks: Ranks that")


def test_a_run_that_fails_is_no_finding():
    """Nothing is known then, and nothing is graded."""

    class Launched:
        outcomes = ()
        failure = None

    with pytest.raises(GraderError, match="separated ranks could not run: it gave no answer"):
        list(between_ranks(lambda plan: Launched(), {}))
