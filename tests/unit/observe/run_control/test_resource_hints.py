"""What a container has too little of is named with the flag that brings it."""

from pathlib import Path

import pytest

from grader.observe.run_control import resource_hints
from grader.observe.run_control.resource_hints import advice

KINDS = ("memory", "shared memory", "processes", "open files", "processes of a user")
UNLIMITED = dict.fromkeys(KINDS)
OPEN = Path("/proc/self/fd")
AS_GIVEN = dict(zip(KINDS, (4 << 30, 256 << 20, 512, 1024, 4096), strict=True))


@pytest.mark.parametrize("allowed", [UNLIMITED, AS_GIVEN])
def test_what_grade_run_gives_is_not_scarce(allowed):
    """Nor is what nobody limits."""
    assert advice(allowed) == ""


@pytest.mark.parametrize(
    ("scarce", "what", "flags"),
    [
        ({"memory": 64 << 20}, "64 MiB of memory", "--memory 4g --memory-swap 4g"),
        (
            {"shared memory": 1 << 20},
            "1 MiB of shared memory",
            "--tmpfs /dev/shm:size=256m,mode=1777",
        ),
        ({"processes": 20}, "at most 20 processes", "--pids-limit 512"),
        ({"open files": 32}, "at most 32 open files", "--ulimit nofile=1024"),
        (
            {"processes of a user": 10},
            "at most 10 processes of a user",
            "--ulimit nproc=4096",
        ),
        (
            {"memory": 1 << 30, "processes": 60},
            "1024 MiB of memory, at most 60 processes",
            "--memory 4g --memory-swap 4g --pids-limit 512",
        ),
    ],
)
def test_each_limit_is_named_with_its_flag(scarce, what, flags):
    """All of them in one clause, whichever it was."""
    assert advice(AS_GIVEN | scarce) == (
        f"this container has less than `grade run` gives ({what}); start it with {flags}"
    )


def test_looking_leaves_no_descriptor_open(tmp_path):
    """It is asked at a moment when they may be what is scarce."""
    before = set(OPEN.iterdir())
    assert resource_hints.own_allowance(tmp_path)["shared memory"] > 0
    assert resource_hints.own_allowance(tmp_path / "none")["shared memory"] is None
    assert set(OPEN.iterdir()) == before
