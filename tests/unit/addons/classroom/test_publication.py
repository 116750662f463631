"""Which mark students know, and what a regrade may take of it."""

from grader.addons.classroom.publication import falling_back


def test_a_regrade_that_fails_takes_nobodys_mark_away():
    newest = {"one": "new 1", "two": "new 2", "three": "new 3"}
    found = falling_back(newest, {"one": "old 1", "two": "old 2"}, {"new 1", "new 3"})
    assert found == {"one": "old 1", "two": "new 2", "three": "new 3"}
