"""Which missing protections forbid a grading, which are only told, and what is said of them."""

import pytest

from grader.model.errors import GraderError
from grader.sealed.selftest.protections import Protection, note, parse, refusal, render, table

HOLDS = Protection("Files cannot be read", True, "9 attempts, all refused", True)
OPEN = Protection("Files cannot be read", False, "not refused: read /judge", True)
WRITABLE = Protection("The image cannot be changed", False, "writable", False, "--read-only")
ONLINE = Protection("There is no network", False, "a way out", False, "--network none")


@pytest.mark.parametrize("flags_are_ours", [True, False])
def test_nothing_is_said_where_everything_holds(flags_are_ours):
    """Neither a refusal nor a note."""
    assert refusal([HOLDS], flags_are_ours=flags_are_ours) == ""
    assert note([HOLDS]) == ""


@pytest.mark.parametrize("flags_are_ours", [True, False])
def test_without_an_essential_protection_nothing_is_graded(flags_are_ours):
    """At every sealed grading; the first is named, with what was found, and how many more."""
    reason = refusal([HOLDS, WRITABLE, OPEN, OPEN], flags_are_ours=flags_are_ours)
    first = WRITABLE if flags_are_ours else OPEN
    assert reason.startswith(
        f"refusing to grade: a protection is missing here, `{first.name}` ({first.found}); "
        "2 more are missing. `grade selftest` lists all of them; "
    )


def test_a_missing_flag_forbids_grading_only_under_our_own_flags():
    """Under plain `docker run` it is told instead, with the flag that brings it."""
    assert refusal([HOLDS, WRITABLE], flags_are_ours=False) == ""
    reason = refusal([HOLDS, WRITABLE], flags_are_ours=True)
    assert reason.endswith("start the container with --read-only")
    assert "more" not in reason


def test_the_note_names_every_missing_protection_and_its_flag():
    """In one sentence, and what sets them all."""
    said = note([WRITABLE, HOLDS, ONLINE])
    assert "The image cannot be changed (--read-only)" in said
    assert "There is no network (--network none)" in said
    assert HOLDS.name not in said
    assert said.endswith("`grade run DIR` sets all of them")


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ([WRITABLE], "1 of the course's protections is missing"),
        ([WRITABLE] * 12, "12 of the course's protections are missing"),
    ],
)
def test_students_are_told_in_one_short_line(missing, told):
    """They cannot use the flags, and need no protection against themselves."""
    said = note([HOLDS, *missing], is_for_students=True)
    assert said == f"feedback, not your mark: {told}"
    assert len(f"note: {said}") <= 80
    assert note([HOLDS], is_for_students=True) == ""


def test_the_table_says_of_each_whether_it_holds():
    """Name, what was found, and for a missing one what brings it."""
    lines = table([HOLDS, WRITABLE]).splitlines()
    assert lines == [
        "holds    Files cannot be read",
        "         9 attempts, all refused",
        "MISSING  The image cannot be changed",
        "         writable; add --read-only",
    ]


def test_json_comes_back_as_it_went():
    """What a container prints, its client reads."""
    assert parse(render([HOLDS, WRITABLE])) == (HOLDS, WRITABLE)


@pytest.mark.parametrize("text", ["", "[]", '{"protections": [{"name": "x"}]}', '{"other": 1}'])
def test_anything_else_is_the_graders_failure(text):
    """One sentence, no traceback."""
    with pytest.raises(GraderError, match="unreadable answer"):
        parse(text)
