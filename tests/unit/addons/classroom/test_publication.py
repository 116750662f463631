"""Which mark students know, and what a regrade may take of it."""

from grader.addons.classroom.publication import falling_back


def test_a_regrade_that_fails_takes_nobodys_mark_away():
    newest = {"one": "new 1", "two": "new 2", "three": "new 3"}
    known = {"one": "old 1", "two": "old 2"}
    found, left = falling_back(newest, known, {"one": "lost", "three": "damaged"})
    assert found == {"one": "old 1", "two": "new 2", "three": "new 3"}
    assert left == {"three": "damaged"}
